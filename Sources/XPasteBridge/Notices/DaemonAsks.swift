import BridgeCore
import Selection

extension Daemon {
  func asksReport() -> JSON {
    .object([
      "schema": .integer(StatusReport.schemaVersion),
      "asks": .array(session.openAsks.map(ask)),
    ])
  }

  func allowOnce(_ number: UInt64?) throws(ControlFailure) -> JSON {
    guard let allowed = session.allowOnce(number) else {
      throw ControlFailure(
        line: number.map { "there is no open question \($0)" } ?? "no paste waits for being allowed")
    }
    return ask(allowed)
  }

  private func ask(_ ask: OpenAsk) -> JSON {
    let now = Posix.monotonicNow().nanoseconds
    return .object([
      "number": .integer(Int(clamping: ask.number)),
      "selection": .string(Label.shortened(ask.selection)),
      "source": RecordJSON.subject(ask.source),
      "destination": RecordJSON.subject(ask.destination),
      "reason": RecordJSON.reason(ask.reason),
      "message": ask.message.map { .string(Label.shortened($0)) },
      "allowed": .bool(ask.isGranted),
      "seconds": .integer(Int(ask.until.nanoseconds > now ? (ask.until.nanoseconds - now) / 1_000_000_000 : 0)),
    ])
  }

  /// How notices stand, for `status`.
  var noticesReport: JSON {
    .object([
      "server": .string(notifier.state.rawValue),
      "shown": .integer(notifier.shownCount),
      "leftOut": .integer(session.noticesLeftOut),
      "asks": .integer(session.openAsks.count),
    ])
  }
}
