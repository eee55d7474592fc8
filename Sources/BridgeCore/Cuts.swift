import Policy
import Selection

// What is known to be a cut (product.md 1): by the key that was seen, or by what file managers put beside their files.
extension Bridge {
  /// KDE's: `1` for a cut.
  static let kdeTarget = "application/x-kde-cutselection"

  /// Takes note of what a new owner is known to have done.
  mutating func noteCut(_ change: OwnerChange) {
    if change.isKnownCut { cuts.insert(change.selection) } else { cuts.remove(change.selection) }
    if change.couldBeCut { possibleCuts.insert(change.selection) } else { possibleCuts.remove(change.selection) }
  }

  /// What the owner of `selection` did, or could have done, before its content is known.
  func actions(on selection: NamedAtom) -> [Action] {
    possibleCuts.contains(selection) ? [.copy, .cut] : [cuts.contains(selection) ? .cut : .copy]
  }

  /// The same for records.
  func kind(on selection: NamedAtom) -> AuditRecord.Kind { cuts.contains(selection) ? .cut : .copy }

  /// What a file manager says itself, which counts more than a key; `nil` where nothing is said.
  static func kindSaid(by representations: [Representation]) -> AuditRecord.Kind? {
    for form in representations {
      switch form.target.name {
      // GNOME's file managers and those that follow them: the first line says `cut` or `copy`, then come addresses.
      case let name where TargetList.isCopiedFiles(name):
        let first = form.payload.copiedBytes(ofFirst: 4)
        if first == Array("cut\n".utf8) || first == Array("cut".utf8) { return .cut }
        if first == Array("copy".utf8) { return .copy }
      case kdeTarget:
        return form.payload.copiedBytes(ofFirst: 1) == Array("1".utf8) ? .cut : .copy
      default: continue
      }
    }
    return nil
  }
}
