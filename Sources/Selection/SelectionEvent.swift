/// Why a selection's owner changed (XFixes, "SelectionNotify").
public enum OwnerChangeCause: Hashable, Sendable {
  /// A client set the owner, or set it to None.
  case set
  /// The owner's window was destroyed.
  case windowDestroyed
  /// The owner's client ended.
  case clientClosed
  /// The owner was there when we started (product.md 5.10).
  case foundAtStart
}

/// Whether the others stood still while a copy was made (the priority lock).
public enum CopyLock: Hashable, Sendable {
  /// Nobody tried to keep them.
  case none
  /// They do: nobody else can read the copy yet.
  case held
  /// They did, and had to be let go before the copy came.
  case missed
}

/// A selection has a new owner, or none.
public struct OwnerChange: Hashable, Sendable {
  /// The selection.
  public var selection: NamedAtom
  /// The new owner; `.none` when it has none.
  public var owner: Window
  /// How it came about.
  public var cause: OwnerChangeCause
  /// The time the owner gave, as the server resolved it: our claim carries it (product.md 5.3).
  public var selectionTime: ServerTime
  /// Whether a key that cuts was pressed in the owner's window right before.
  public var isKnownCut = false
  /// Whether such a key was pressed right before, and whose window it was isn't certain.
  public var couldBeCut = false
  /// How the priority lock stood when it happened.
  public var lock = CopyLock.none

  /// Describes the change.
  public init(selection: NamedAtom, owner: Window, cause: OwnerChangeCause, selectionTime: ServerTime) {
    self.selection = selection
    self.owner = owner
    self.cause = cause
    self.selectionTime = selectionTime
  }
}

/// A requestor asks us, the owner, for a conversion (SelectionRequest).
public struct ConversionRequest: Hashable, Sendable {
  /// Who asks, and where the answer goes.
  public var requestor: Window
  /// Which selection.
  public var selection: NamedAtom
  /// To what.
  public var target: Target
  /// Where the answer is stored; `.none` from clients older than the ICCCM, which mean the target's own atom.
  public var property: Atom
  /// The time of the event that led to it.
  public var time: ServerTime

  /// Describes the request.
  public init(requestor: Window, selection: NamedAtom, target: Target, property: Atom, time: ServerTime) {
    self.requestor = requestor
    self.selection = selection
    self.target = target
    self.property = property
    self.time = time
  }
}

/// What reading one of our answer properties gave.
public enum PropertyValue: Hashable, Sendable {
  /// A whole value, now deleted.
  case value(type: NamedAtom, format: Int, payload: Payload)
  /// An atom list (type ATOM or TARGETS, format 32), already named; now deleted.
  case atoms([NamedAtom])
  /// Type INCR: chunks follow; the number is the owner's hint, which is not to be trusted (facts: LibreOffice gives the
  /// chunk's size).
  case incremental(hint: Int)
  /// The property isn't there: what Qt does for targets it doesn't have.
  case absent
  /// More bytes than the limit given.
  case tooLarge(bytes: Int)
}

/// How a claim ended.
public enum ClaimOutcome: Hashable, Sendable {
  /// We own the selection.
  case held
  /// Somebody else had changed it in the meantime; their event follows or has come.
  case superseded
}

/// Everything X tells the core, decoded.
public enum SelectionEvent: Hashable, Sendable {
  /// A selection changed hands; our own claims don't appear here.
  case ownerChanged(OwnerChange)
  /// Another client has claimed a selection in the name of our own window, at `time`.
  case claimForged(selection: NamedAtom, time: ServerTime)
  /// A claim was carried out or found superseded.
  case claimSettled(selection: NamedAtom, ClaimOutcome)
  /// A selection was taken as of `time`, whoever owned it; `nil` when somebody was quicker, whose event follows.
  case seized(NamedAtom, time: ServerTime?)
  /// A requestor asks for a conversion.
  case conversionRequested(ConversionRequest)
  /// The owner answered one of our conversions (SelectionNotify); `stored` is false for property None.
  case conversionAnswered(ConversionID, stored: Bool)
  /// The owner put a new value into one of our answer properties (PropertyNotify, NewValue).
  case chunkStored(ConversionID)
  /// One of our answer properties was read.
  case answerRead(ConversionID, PropertyValue)
  /// The pair list of a MULTIPLE request was read; `nil` when there was none.
  case pairsRead(ConversionRequest, [AtomPair]?)
  /// A requestor took a chunk (PropertyNotify, Delete) from a window we watch.
  case propertyDeleted(window: Window, property: Atom)
  /// A requestor's window is gone: it was destroyed, or a request to it failed with BadWindow.
  case requestorGone(Window)
  /// The server refused to store in a property for another reason (BadAlloc, BadAtom, BadAccess).
  case storeRejected(window: Window, property: Atom)
  /// Whether a pointer button or Shift is down.
  case pointerRead(selection: NamedAtom, isBusy: Bool)
  /// Whether presses of the middle button are ours to decide, or only the pointer's way is told.
  case pasteGuardSettled(hasButton: Bool)
  /// The middle button is pressed over a window of the subject, and the pointer stands still. On a window manager's own
  /// windows it may mean anything.
  case middleButtonPressed(isOnWindowManager: Bool)
  /// Shift+Insert is pressed while the subject has the focus, and the keyboard stands still. It pastes PRIMARY in terminals
  /// and CLIPBOARD elsewhere.
  case pasteKeyPressed
  /// The pointer has come into a window of the subject.
  case pointerEntered
  /// Somebody has set a property of the root window in which copies are kept (`RootCopy`), `bytes` long; the subject is
  /// the active app.
  case cutBufferSet(NamedAtom, bytes: Int)
  /// What tells whether the person is behind what a program asks for; the number is that of the question.
  case personRead(UInt64, PersonSign)
  /// Everybody else goes on in a moment, who stood still while CLIPBOARD's owner is asked for its copy.
  case lockEnds
  /// The deadline the core asked for has come.
  case deadlineReached
}

/// What tells whether the person is behind what a program asks for.
public enum PersonSign: Hashable, Sendable {
  /// A key that pastes was pressed a moment ago, while the program had the keyboard.
  case pasteKey
  /// The program has the keyboard.
  case inFront
  /// Neither.
  case behind
}

/// One pair of a MULTIPLE request (ICCCM 2.6.2).
public struct AtomPair: Hashable, Sendable {
  /// What to convert to.
  public var target: Target
  /// Where to store it.
  public var property: Atom

  /// Joins target and property.
  public init(target: Target, property: Atom) {
    self.target = target
    self.property = property
  }
}
