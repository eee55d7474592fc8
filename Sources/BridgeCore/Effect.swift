import Boards
import Policy
import Selection

/// One stretch of content to be stored in a requestor's property. It can't be made without a grant.
public struct ContentStore: Hashable, Sendable {
  /// Where to store it.
  public var window: Window
  /// In which property.
  public var property: Atom
  /// The property's type.
  public var type: Atom
  /// 8, 16 or 32 bits an item; the payload holds items of 32 bits as 4 bytes in the machine's order.
  public var format: Int
  /// The content.
  public var payload: Payload
  /// Which chunk of it; `nil` for the zero-length end of an incremental transfer.
  public var chunk: Int?
  /// Why it may move.
  public var grant: Grant
  /// Whether nobody but the requestor may read it there, even for a moment (`protect: true`).
  public var isProtected: Bool

  /// Describes a store that `grant` permits.
  public init(
    window: Window, property: Atom, type: Atom, format: Int, payload: Payload, chunk: Int?, grant: Grant,
    isProtected: Bool
  ) {
    self.window = window
    self.property = property
    self.type = type
    self.format = format
    self.payload = payload
    self.chunk = chunk
    self.grant = grant
    self.isProtected = isProtected
  }
}

/// What is stored in a requestor's property and is no content.
public enum MetadataValue: Hashable, Sendable {
  /// A list of atoms, type ATOM, format 32: an answer to TARGETS.
  case targets([Atom])
  /// A time, type INTEGER, format 32: an answer to TIMESTAMP.
  case time(ServerTime)
  /// A pair list, type ATOM_PAIR, format 32: the answered MULTIPLE property.
  case pairs([Atom])
  /// Type INCR, format 32: an incremental transfer of so many bytes begins.
  case incremental(bytes: Int)
  /// Type NULL, no bytes: the answer to SAVE_TARGETS.
  case null
  /// A rule's `replace-with` text, format 8: the policy's own words, not content.
  case replacement(type: Atom, bytes: [UInt8])
}

/// What the shell has to do, in order. Plain values: no closures, no windows of ours, nothing to compare by identity.
public enum Effect: Hashable, Sendable {
  /// Ask the owner of `selection` to convert it to `target`, on a requestor window of this conversion's own.
  case convert(ConversionID, selection: NamedAtom, target: Target, time: ServerTime)
  /// Read the conversion's answer property, delete it and report `.answerRead`; at most `limit` bytes.
  case readAnswer(ConversionID, limit: Int)
  /// The conversion is over; its window may serve again only when nothing can still arrive there.
  case endConversion(ConversionID, reusable: Bool)
  /// Take `selection` with the time given, if `expecting` still owns it and no newer change waits to be read; report
  /// `.claimSettled`.
  case claim(selection: NamedAtom, time: ServerTime, expecting: Window)
  /// Ask whether `selection`, taken before, is still ours; report `.claimSettled`.
  case confirm(selection: NamedAtom)
  /// Take these selections, whoever owns them, as a program does that has just copied; report `.seized` of each.
  case seize([NamedAtom])
  /// Take `selection` again with the time it is held since, so that apps that keep our list of targets ask anew.
  case reassert(selection: NamedAtom, time: ServerTime)
  /// Have the requests for `selection` come to us from now on, if `source` still owns it and no newer change waits to be
  /// read: as `.claim`, except that `source` stays its owner by name. Report `.claimSettled`.
  case standIn(selection: NamedAtom, time: ServerTime, for: Window)
  /// Take away the owner `source`, if it still is owner by name alone.
  case standDown(selection: NamedAtom, time: ServerTime, for: Window)
  /// Let go of `selection`, if it is still ours with that time.
  case giveUp(selection: NamedAtom, time: ServerTime)
  /// Read whether a pointer button or Shift is down and report `.pointerRead`.
  case readPointer(selection: NamedAtom)
  /// Report every press of the middle button and of Shift+Insert before anybody gets it, the pointer or the keyboard
  /// standing still until it is released, or stop doing so. Where the button isn't to be had, report `.pointerEntered`
  /// instead. Report `.pasteGuardSettled`.
  case guardPastes(Bool)
  /// Let the pointer go on, with the press handed on to whom it was meant for or without.
  case releasePointer(replays: Bool)
  /// Let the keyboard go on, with the press handed on.
  case releaseKeyboard
  /// Delete a cut buffer of the root window.
  case clearCutBuffer(NamedAtom)
  /// Take `selection` from a client that claimed it at `time` in the name of our window.
  case retake(selection: NamedAtom, time: ServerTime)
  /// Read the pair list of a MULTIPLE request and report `.pairsRead`.
  case readPairs(ConversionRequest)
  /// Store content in a requestor's property.
  case store(ContentStore)
  /// Store metadata in a requestor's property.
  case storeMetadata(window: Window, property: Atom, MetadataValue)
  /// Answer a request (SelectionNotify); `.none` as property refuses.
  case notify(ConversionRequest, property: Atom)
  /// Report property deletions and the end of a requestor's window from now on.
  case watch(Window)
  /// No longer report them.
  case unwatch(Window)
  /// This is what `selection` is held with from now on; `nil` when there is nothing that may outlive the process.
  case retain(selection: NamedAtom, HeldClip?)
  /// Run an action and report its end by `Bridge.actionEnded`.
  case runAction(ActionRun)
  /// Tell whoever asked for this run how it ended.
  case concludeAction(UInt64, ActionOutcome)
  /// Answer the call to a board that is being handled.
  case answer(BoardAnswer)
  /// Tell those who watch the board and may use it.
  case announce(BoardNotice)
  /// Read what was stored of these boards and hand it in by `Bridge.restoreBoards`.
  case loadBoards([String])
  /// Store an item of a board that outlives us, or that it is pinned or no longer so.
  case keepItem(BoardItem, on: String)
  /// Remove stored items of a board, and wipe where they lay.
  case forgetItems([UInt64], of: String)
  /// Remove all that is stored of a board, and wipe where it lay.
  case forgetBoard(String)
  /// Look whether the person is behind what `subject` asks for, and report `.personRead` with the number; without
  /// `wantsFocus` only a key counts, for which nothing has to be asked.
  case readPerson(UInt64, of: Subject, wantsFocus: Bool)
  /// Show the person a notice; one with a number that is shown already takes its place.
  case tell(Notice)
  /// The notice with this number is over.
  case closeNotice(UInt64)
  /// Write an audit record.
  case audit(AuditRecord)
}
