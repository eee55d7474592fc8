import BridgeCore
import Selection

/// The atoms of a scene.
struct SceneAtoms {
  let known: KnownAtoms
  /// What owners offer and requestors ask for.
  let content: [Target]
  /// What requestors ask for besides: metadata, what does something, and what nobody has.
  let other: [Target]
  /// Properties that requestors name; the first is None.
  let properties: [Atom]

  init() {
    var count: UInt32 = 200
    func make(_ name: String) -> NamedAtom {
      count += 1
      return NamedAtom(Atom(count), name)
    }
    known = KnownAtoms { make($0) }
    content =
      [known.utf8String, known.string]
      + [
        "text/html", "image/png", "text/plain;charset=utf-8", "x-kde-passwordManagerHint",
        "org.nspasteboard.ConcealedType", "COMPOUND_TEXT", "image/bmp",
      ].map { make($0) }
    other =
      [known.targets, known.timestamp, known.multiple, known.saveTargets]
      + ["DELETE", "INCR", "NOBODY_HAS_THIS"].map { make($0) }
    properties = [.none] + (1...5).map { Atom(900 + $0) }
  }
}
