import BridgeCore
import Policy
import Selection
import X11

// How effects become requests to the server, the store and the journal.
extension EffectRunner {
  /// Carries out one effect and returns its outcomes, where it has some at once.
  func run(_ effect: Effect) -> [SelectionEvent] {
    switch effect {
    case .convert(let conversion, let selection, let target, let time):
      display.convert(conversion, selection: selection.atom, target: target.atom, time: time)
    case .readAnswer(let conversion, let limit):
      return [.answerRead(conversion, display.readAnswer(conversion, limit: limit))]
    case .endConversion(let conversion, let isReusable):
      isRinseDue = true
      display.endConversion(conversion, isReusable: isReusable)
    case .claim(let selection, let time, let expected):
      isRinseDue = true
      return [
        .claimSettled(
          selection: selection, display.claim(selection.atom, time: time, expecting: expected))
      ]
    case .confirm(let selection):
      return [.claimSettled(selection: selection, display.confirm(selection.atom))]
    case .seize(let selections):
      isRinseDue = true
      let time = display.serverTime()
      let outcomes = display.seize(selections.map(\.atom), time: time)
      return zip(selections, outcomes).map { .seized($0, time: $1 == .held ? time : nil) }
    case .reassert(let selection, let time):
      isRinseDue = true
      display.reassert(selection.atom, time: time)
    case .retake(let selection, let time): display.retake(selection.atom, time: time)
    case .standIn(let selection, let time, let source):
      isRinseDue = true
      return [.claimSettled(selection: selection, display.standIn(selection.atom, time: time, for: source))]
    case .standDown(let selection, let time, let source):
      isRinseDue = true
      display.standDown(selection.atom, time: time, for: source)
    case .giveUp(let selection, let time): display.giveUp(selection.atom, time: time)
    case .readPointer(let selection): return [.pointerRead(selection: selection, isBusy: display.isPointerBusy)]
    case .guardPastes(true): return [.pasteGuardSettled(hasButton: pointer.start())]
    case .guardPastes(false): pointer.stop()
    case .releasePointer(let replays): pointer.releasePointer(replays: replays)
    case .releaseKeyboard: pointer.releaseKeyboard()
    case .clearCutBuffer(let buffer): display.clearCutBuffer(buffer.atom)
    case .readPairs(let request):
      let limit = max(limits.multiplePairs, Self.pairsReadBack)
      return [.pairsRead(request, display.readPairs(of: request, limit: limit))]
    case .store(let content):
      if content.isProtected, content.chunk != nil { actions?.beginPaste(content.window, content.property) }
      display.store(
        content.payload, chunk: content.chunk, type: content.type, format: content.format, in: content.property,
        of: content.window)
    case .storeMetadata(let window, let property, let value):
      display.store(items(of: value), in: property, of: window)
    case .notify(let request, let property): display.notify(request, property: property)
    case .watch(let window): display.watch(window)
    case .unwatch(let window): display.unwatch(window)
    case .retain(let selection, let held):
      isRinseDue = true
      // What the core makes of a lost connection says nothing of the selection.
      if !isLost { options.continuity?.retain(selection, held) }
    case .runAction(let run): desk?.children.start(run) { [weak self] in self?.actionEnded(run, $0) }
    case .concludeAction(let number, let outcome): desk?.conclude(number, outcome)
    case .answer(let answer): boardAnswer = answer
    case .announce(let notice): options.onBoardNotice(notice)
    case .loadBoards(let names): options.boardKeeper?.load(names) { [display] in display.atoms.intern($0) }
    case .keepItem(let item, let board):
      options.boardKeeper?.keep(item, on: board, changeCount: changeCount(of: board))
    case .forgetItems(let items, let board):
      options.boardKeeper?.forget(items, of: board, changeCount: changeCount(of: board))
    case .forgetBoard(let board): options.boardKeeper?.forget(board)
    case .readPerson(let number, let subject, let wantsFocus):
      return [.personRead(number, personSign(of: subject, wantsFocus: wantsFocus))]
    case .tell(let notice): options.onNotice(.show(notice))
    case .closeNotice(let number): options.onNotice(.close(number))
    case .audit(let record): onAudit(record)
    }
    return []
  }

  /// What tells whether the person is behind what `subject` asks for.
  private func personSign(of subject: Subject, wantsFocus: Bool) -> PersonSign {
    if actions?.hasPasteKey(of: subject) == true { return .pasteKey }
    guard wantsFocus, !isLost, resolver.resolve(display.focusedWindow).isSameApp(as: subject) else { return .behind }
    return .inFront
  }

  private func changeCount(of board: String) -> UInt64 { bridge.boards[board]?.changeCount ?? 0 }

  private func items(of value: MetadataValue) -> MetadataItems {
    switch value {
    case .targets(let atoms): .atoms(atoms)
    case .time(let time): .integer(time.milliseconds)
    case .pairs(let atoms): .atomPairs(atoms)
    case .incremental(let bytes): .incremental(UInt32(clamping: bytes))
    case .null: .null
    case .replacement(let type, let bytes): .text(type: type, bytes)
    }
  }
}
