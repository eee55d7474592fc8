/// One line of the audit file. The only place that knows its keys.
struct AuditLine: CustomStringConvertible {
  private let event: Event

  init(_ event: Event) { self.event = event }

  private var reason: Event? { event.object("reason") }

  var action: String { event.text("action") ?? "" }
  var selection: String { event.text("selection") ?? "" }
  var source: AuditSubject? { event.object("source").map(AuditSubject.init) }
  var destination: AuditSubject? { event.object("destination").map(AuditSubject.init) }
  var targets: [String] { event.list("targets") }
  var bytes: Int { event.number("bytes") ?? 0 }
  var decision: String { event.text("decision") ?? "" }
  var rule: String { reason?.text("rule") ?? "" }
  var file: String { reason?.text("file") ?? "" }
  var line: Int { reason?.number("line") ?? 0 }
  var outcome: String { event.text("outcome") ?? "" }
  var limit: String { event.text("limit") ?? "" }
  var count: Int { event.number("count") ?? 1 }
  var description: String { event.description }
}

/// Who a line speaks of; a fact may stand alone or with its evidence as `{"value":…, "evidence":…}`.
struct AuditSubject {
  private let event: Event

  init(_ event: Event) { self.event = event }

  private func fact(_ key: String) -> String? { event.text(key) ?? event.object(key)?.text("value") }

  var windowClass: String? { fact("class") }
  var executable: String? { fact("exe") }
  var script: String? { fact("script") }
  var sandbox: String? { fact("sandbox") }
  var origin: String { event.text("origin") ?? "" }
  /// How sure a fact is.
  func evidence(of key: String) -> String? { event.object(key)?.text("evidence") }
  var pid: Int? { event.number("pid") }
}
