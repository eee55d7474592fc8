import Policy
import Selection

/// A clip as it has to outlive the process: what a selection is held with, and what is known of it. Whoever may have it
/// is not part of it: that is decided anew.
public struct HeldClip: Hashable, Sendable {
  /// The selection held with it.
  public var selection: NamedAtom
  /// The time of our claim.
  public var time: ServerTime
  /// Who it came from.
  public var source: Subject
  /// `copy` or `cut`.
  public var kind: AuditRecord.Kind
  /// When its copy began: expiry counts from here.
  public var copiedAt: MonotonicTime
  /// Whether the source listed SAVE_TARGETS.
  public var listsSaveTargets: Bool
  /// In the source's own order.
  public var representations: [Representation]

  /// Describes a clip.
  public init(
    selection: NamedAtom, time: ServerTime, source: Subject, kind: AuditRecord.Kind, copiedAt: MonotonicTime,
    listsSaveTargets: Bool, representations: [Representation]
  ) {
    self.selection = selection
    self.time = time
    self.source = source
    self.kind = kind
    self.copiedAt = copiedAt
    self.listsSaveTargets = listsSaveTargets
    self.representations = representations
  }
}

/// Tells whether what was last said of a selection by `.retain` still holds.
struct RetainMark: Hashable, Sendable {
  let clip: UInt64
  let forms: Int
}

extension Bridge {
  /// Takes up a clip that the process before this one held. The policy in force decides it anew, its expiry goes on
  /// counting, and the claim carries the time of the old one: the server ignores it when anybody has copied or cleared
  /// since. Only for a selection that has no owner.
  public mutating func restore(_ held: HeldClip, at now: MonotonicTime) -> [Effect] {
    let selection = held.selection
    guard case .unowned? = phases[selection] else { return [.retain(selection: selection, nil)] }
    clipCount += 1
    retained[selection] = RetainMark(clip: clipCount, forms: held.representations.count)
    let clip = Clip(
      number: clipCount, source: held.source, kind: held.kind, copiedAt: held.copiedAt,
      isSensitive: Clip.isMarkedSecret(held.representations), listsSaveTargets: held.listsSaveTargets, entries: [])
    let (kept, records) = judgeAnew(clip, held.representations, on: selection)
    // What is secret was never given away; if it comes back nevertheless, it isn't ours.
    guard let kept, !clip.isSensitive else { return records + retentions() }
    if let expiry = kept.expiry, expiry <= now {
      return records + [.audit(expiryRecord(of: kept, on: selection))] + retentions()
    }
    let holding = Holding(time: held.time, clip: kept)
    return records + claim(Claim(holding, expecting: .none, isRestored: true), on: selection) + retentions()
  }

  /// Says of each selection, boards apart, what it is held with, where that has changed: one place for all the ways in which a clip
  /// begins and ends.
  mutating func retentions() -> [Effect] {
    var effects: [Effect] = []
    let own = [atoms.clipboard, atoms.primary, atoms.secondary].filter { phases[$0] != nil }
    for selection in own.sorted(by: { $0.atom.id < $1.atom.id }) {
      // What becomes of it is known when the claim is settled.
      if case .claiming? = phases[selection] { continue }
      let held = retainable(on: selection)
      let mark = held.map { RetainMark(clip: $0.clip.number, forms: $0.clip.entries.count) }
      guard mark != retained[selection] else { continue }
      retained[selection] = mark
      effects.append(.retain(selection: selection, held.map { heldClip($0.clip, since: $0.time, on: selection) }))
    }
    return effects
  }

  /// The clip that may be given out of our hands: not a secret one, nor one that is to be read once (product.md 5.8), nor
  /// what an action made or came from a board: by what it is decided is not written down.
  private func retainable(on selection: NamedAtom) -> (clip: Clip, time: ServerTime)? {
    // A drag ends with its source.
    guard selection != atoms.drag, case .held(let holding)? = phases[selection], let clip = holding.clip,
      !clip.isSensitive, clip.derivation == nil, clip.confinement == nil, clip.repeated.isEmpty,
      !clip.couldBeCut, usedUp[selection] == nil,
      !clip.entries.contains(where: { $0.decision.obligations.oneShot })
    else { return nil }
    return (clip, holding.time)
  }

  private func heldClip(_ clip: Clip, since time: ServerTime, on selection: NamedAtom) -> HeldClip {
    HeldClip(
      selection: selection, time: time, source: clip.source, kind: clip.kind, copiedAt: clip.copiedAt,
      listsSaveTargets: clip.listsSaveTargets, representations: clip.entries.map(\.representation))
  }
}
