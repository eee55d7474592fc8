import BoardStore
import Boards
import BridgeCore
import Policy
import Selection
import X11

/// How what keeps persistent boards stands.
enum BoardStoreStanding: Hashable {
  /// No board has been persistent so far.
  case unused
  /// It is being opened.
  case opening
  /// It can be used; where its key came from.
  case open(KeySource)
  /// It can't, for this reason: boards are kept in memory alone.
  case failed(String)

  /// Why nothing is stored; `nil` while all is well.
  var failure: String? { if case .failed(let reason) = self { reason } else { nil } }
}

/// What keeps the content of persistent boards beyond the daemon's end. Nobody waits for it: it hands over what it has when
/// it has it.
protocol BoardKeeper: AnyObject {
  /// Called with boards that were asked for, as soon as they have been read.
  var onLoaded: ([StoredBoard]) -> Void { get set }
  /// How it stands.
  var standing: BoardStoreStanding { get }
  /// Reads what is stored of these boards; `intern` numbers the names of types.
  func load(_ boards: [String], intern: @escaping ([String]) -> [NamedAtom])
  /// Stores an item, or that it is pinned or no longer so.
  func keep(_ item: BoardItem, on board: String, changeCount: UInt64)
  /// Removes items and wipes where they lay.
  func forget(_ items: [UInt64], of board: String, changeCount: UInt64)
  /// Removes all that is stored of a board and wipes where it lay.
  func forget(_ board: String)
  /// Changes that aren't known to be on disk yet.
  var unstoredCount: Int { get }
  /// Waits until all is stored; nothing is after it.
  func end()
}

// Boards on the display: their selections, what was stored of them, and the calls of those who don't come by X.
extension EffectRunner {
  /// The selections of a policy's boards, in one round trip.
  func selections(ofBoardsIn policy: PolicySet) -> [NamedAtom] {
    display.atoms.intern(policy.boards.map(\.name)).filter { $0.atom != .none }
  }

  /// Opens the policy's boards at the start.
  func openBoards() {
    options.boardKeeper?.onLoaded = { [weak self] in self?.takeUp($0) }
    carryOut(bridge.reviseBoards(selections(ofBoardsIn: bridge.policy)))
    rewatch()
  }

  /// Takes up what others own of new selections.
  func adopt(_ new: [NamedAtom]) {
    for (selection, owner) in zip(new, display.selectionOwners(of: new.map(\.atom)))
    where owner != .none && !display.isOurs(owner) {
      adopt(selection)
    }
  }

  /// Takes up what was stored of boards. Whoever owns a board's selection by now has copied onto it since.
  private func takeUp(_ stored: [StoredBoard]) {
    guard !isLost else { return }
    let selections = display.atoms.intern(stored.map(\.name))
    let owners = display.selectionOwners(of: selections.map(\.atom))
    let owned = zip(selections, owners).filter { $1 != .none }.map(\.0)
    carryOut(bridge.restoreBoards(stored, owned: Set(owned), at: .now))
    display.flush()
  }

  /// Takes a call to the boards; `nil` when the server is gone.
  func callBoard(_ call: BoardCall, from subject: Subject) -> BoardAnswer? {
    guard !isLost else { return nil }
    boardAnswer = nil
    carryOut(bridge.handle(call, from: subject, at: .now))
    switch call {
    case .create, .remove, .connectionEnded: rewatch()
    default: break
    }
    display.flush()
    return boardAnswer
  }
}

extension EffectRunner {
  /// Who a process is: as its X client says, where it has one with a window, and else as the kernel does.
  func subject(of process: ProcessRecord) -> Subject { resolver.resolve(process) }

  func intern(_ names: [String]) -> [NamedAtom] { isLost ? [] : display.atoms.intern(names) }

  var contentLimit: Int { limits.clipBytes }
  var isClipboardSettled: Bool { isLost || bridge.isClipboardSettled }
  var boards: BoardTable { bridge.boards }

  func mayUse(_ subject: Subject, _ board: String) -> Bool {
    board == BoardName.general || bridge.mayUse(subject, board)
  }
}
