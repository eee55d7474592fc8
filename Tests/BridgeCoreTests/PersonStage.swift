import Boards
import BridgeCore
import Policy
import Selection

/// The person in front of the pretended server: what they do, and what they are told.
struct PersonStage {
  /// What tells who is behind a program's request; without an entry the program is in front.
  var signs: [Subject: PersonSign] = [:]
  private(set) var told: [Notice] = []
  private(set) var closed: [UInt64] = []
  /// How often the server was asked who is in front.
  private(set) var questions = 0

  mutating func carryOut(_ effect: Effect) -> [SelectionEvent] {
    switch effect {
    case .readPerson(let number, let subject, let wantsFocus):
      if wantsFocus { questions += 1 }
      let sign = signs[subject] ?? .inFront
      return [.personRead(number, sign == .inFront && !wantsFocus ? .behind : sign)]
    case .tell(let notice): told.append(notice)
    case .closeNotice(let number): closed.append(number)
    default: break
    }
    return []
  }
}

extension Stage {
  /// A process calls the boards past X.
  @discardableResult
  mutating func call(_ call: BoardCall, by subject: Subject) -> BoardAnswer? {
    let before = answers.count
    run(bridge.handle(call, from: subject, at: now))
    return answers.count > before ? answers.last : nil
  }

  /// The person allows a paste once, the latest where no number is given.
  @discardableResult
  mutating func allowOnce(_ number: UInt64? = nil) -> OpenAsk? {
    let (allowed, effects) = bridge.allowOnce(number, at: now)
    run(effects)
    return allowed
  }
}
