import Boards
import ContentActions
import Policy
import Selection

// Actions whose result goes to a board (product.md 8): it lies there as a mirrored clip does, its source's and derived,
// and whoever reads it is decided by all that it was made of.
extension Bridge {
  /// By whose right a result goes to the board `name`: the active app's, or else that of the action's program; `nil` when
  /// neither may write it, or there is no such board.
  func placer(on name: String, active: Subject?, program: Subject) -> Subject? {
    [active, program].compactMap(\.self).first { mayUse($0, name) }
  }

  /// An action isn't begun, since its result couldn't go where it belongs: nobody may write the board (`isWritable` false),
  /// or the clip is secret.
  func boardRefusal(
    of action: ContentAction, for program: Subject, _ clip: Clip, _ form: Representation, on name: String,
    isWritable: Bool, number: UInt64
  ) -> [Effect] {
    let denial = isWritable ? nil : boardAtoms[name].flatMap { boardDenial(on: $0, from: clip.source, to: program) }
    var record = AuditRecord(
      kind: .action, selection: name, source: clip.source, destination: program, targets: [form.target.name],
      bytes: form.payload.count, verdict: .deny, reason: denial?.reason ?? .builtInDefault, outcome: .refused,
      actionName: action.name, notifies: true, isAlwaysWritten: true)
    record.message = denial?.obligations.message
    return [.audit(record), .concludeAction(number, isWritable ? .notForBoard(name) : .noBoard(name))]
  }

  /// A run has made this: it is put on its board.
  mutating func placed(
    _ number: UInt64, _ run: OpenRun, of clip: Clip, _ forms: [Representation], on name: String
  ) -> [Effect] {
    // The policy may have changed while it ran.
    guard let placer = run.placer, mayUse(placer, name), let board = boards[name], let selection = boardAtoms[name]
    else {
      return concluded(number, run, clip: clip, .noBoard(name), .refused)
    }
    // As a mirrored clip it is decided where it was copied, on CLIPBOARD; rules about the board count as well.
    let made = derived(from: clip, by: run)
    let judged = judge(made, forms, on: atoms.clipboard)
    let judgedThere = judge(made, forms, on: selection)
    guard !judged.clip.entries.isEmpty, !judgedThere.clip.entries.isEmpty else {
      let strictest = judged.clip.entries.isEmpty ? judged : judgedThere
      let refusal = strictest.refusals.first?.decision
      return concluded(
        number, run, clip: clip,
        .refused(refusal?.reason ?? strictest.withheldBy ?? .builtInDefault, message: refusal?.obligations.message),
        .refused, refusal: refusal)
    }
    let there = judgedThere.clip.entries.filter { mayLie($0, of: made, on: board) }.map(\.representation.target)
    let entries = judged.clip.entries.filter {
      mayLie($0, of: made, on: board) && there.contains($0.representation.target)
    }
    guard let first = entries.first else {
      return concluded(number, run, clip: clip, .notForBoard(name), .refused)
    }
    var item = BoardItem(
      judged.clip, entries.map(\.representation), origin: policyName(of: atoms.clipboard))
    item.placedBy = placer == made.source ? nil : placer
    item.expiry = [item.expiry, judgedThere.clip.expiry].compactMap(\.self).min()
    let targets = entries.map(\.representation.target.name)
    var record = actionRecord(run, source: clip.source, outcome: .kept)
    (record.verdict, record.reason) = (first.decision.verdict, first.decision.reason)
    (record.targets, record.bytes) = (targets, first.representation.payload.count)
    do throws(BoardRefusal) {
      let change = try boards.add(item, to: name)
      let outcome = ActionOutcome.made(targets: targets, bytes: record.bytes, board: name)
      return (change.map { note($0) + present(name) } ?? []) + [.audit(record), .concludeAction(number, outcome)]
    } catch {
      (record.outcome, record.limit, record.message) = (.refused, .boardQuota, error.rawValue)
      record.notifies = true
      return [.audit(record), .concludeAction(number, .noRoom(name, error))]
    }
  }

  /// Whether a form may lie on a board: everybody who reads it there could have had it where it came from, as far as the
  /// audience goes, and as often as they like.
  private func mayLie(_ entry: Clip.Entry, of clip: Clip, on board: Board) -> Bool {
    guard !entry.decision.obligations.oneShot, clip.isForItsAppsBoards,
      clip.confinement.map({ $0.members == board.members }) ?? true
    else { return false }
    return switch entry.audience {
    case .everyone: true
    case .board(let name): board.members == .ofBoard(name)
    case .app: false
    }
  }
}
