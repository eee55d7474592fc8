import BridgeCore
import Policy
import Testing

@testable import XPasteBridge

/// What notices say.
struct NoticeTextTests {
  private func app(_ windowClass: String?, _ exe: String?) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: 7, startTime: 1)), windowClass: windowClass.map { Fact($0, .declared) },
      executable: exe.map { Fact($0, .attested) })
  }

  private func notice(
    _ kind: AuditRecord.Kind, _ outcome: AuditRecord.Outcome, reason: Reason = .builtInDefault,
    message: String? = nil, selection: String = "clipboard", limit: AuditRecord.Limit? = nil, offers: Bool = false
  ) -> Notice {
    let isRead = kind == .paste || kind == .drag
    let record = AuditRecord(
      kind: kind, selection: selection, source: app("Ledger", "/opt/ledger/bin/ledger"),
      destination: isRead ? app("Browser", "/usr/bin/browser") : nil, targets: ["UTF8_STRING"], verdict: .deny,
      reason: reason, outcome: outcome, limit: limit, message: message)
    var notice = Notice(number: 1, record: record, isPersons: true, isLast: false)
    notice.offersAllowOnce = offers
    return notice
  }

  private func rule(_ file: String) -> Reason {
    .rule(
      RuleReference(name: "finance stays", position: SourcePosition(file: file, line: 3, column: 5)))
  }

  @Test func sentences() {
    let rows: [(Notice, String, String)] = [
      (
        notice(
          .paste, .refused, reason: rule("/etc/xpastebridge/policy.d/a.yaml"), message: "Finance stays in finance"),
        "Paste refused",
        "Browser may not paste what Ledger copied. Finance stays in finance. "
          + "If that is wrong, ask whoever looks after this computer."
      ),
      (
        notice(.paste, .refused, reason: .outsideAudience(rule("/srv/own/b.yaml"))), "Paste refused",
        "Browser may not paste what Ledger copied. By the rule “finance stays”. "
          + "It may be pasted where it was copied, and in the members of its board. The rule is in /srv/own/b.yaml."
      ),
      (
        notice(.copy, .emptied, message: "No."), "Copy refused",
        "Ledger may not copy. No. If it was a cut, undo brings the text back."
      ),
      (notice(.cut, .emptied), "Cut refused", "Ledger may not cut. Undo brings the text back."),
      (
        notice(.cut, .refusedByKey), "Cut refused",
        "Ledger may not cut. The key didn't reach it: its text is as it was."
      ),
      (
        notice(.paste, .refused, reason: .lockdown), "Paste refused",
        "Browser may not paste what Ledger copied. A lockdown is on; `xpastebridge lockdown off` lifts it."
      ),
      (
        notice(.drag, .refused), "Drag refused",
        "What is dragged from Ledger may not go to Browser. If it was a move, undo brings it back."
      ),
      (
        notice(.paste, .refused, message: "Sure?", offers: true), "Allow this paste?",
        "Browser (/usr/bin/browser) wants to paste what Ledger copied. Sure? Choose Allow once, then paste again within "
          + "30 seconds."
      ),
      (
        notice(.copy, .left, limit: .targetsTimeout), "Copy not complete",
        "Ledger doesn't answer, so that what it copied can't be kept."
      ),
      (
        notice(.paste, .refused, selection: "com.acme.finance"), "Paste refused",
        "Browser may not paste what Ledger copied from `com.acme.finance`."
      ),
    ]
    for (notice, summary, body) in rows {
      let text = NoticeText(notice, serverHasActions: true)
      #expect(text.summary == summary && text.body == body)
    }
  }

  @Test func backgroundAndLast() {
    var notice = notice(.paste, .refused, offers: true)
    (notice.isPersons, notice.isLast) = (false, true)
    let text = NoticeText(notice, serverHasActions: false)
    #expect(!text.offersAllowOnce)
    #expect(
      text.body.hasSuffix(
        "Run `xpastebridge allow-once \(notice.number)`, then paste again within 30 seconds. It isn't the active app; perhaps nobody asked "
          + "for this. More refusals aren't shown for a minute; `xpastebridge audit` has them all."))
  }

  /// A program calls itself what it likes: nothing of that is markup, a new line or longer than a name.
  @Test func hostileNames() {
    var hostile = notice(.paste, .refused, message: Example.hostile, offers: true)
    hostile.record.destination = app("<b>Bank</b>\n&\u{202e}" + Example.huge, "/tmp/\u{1b}[31m" + Example.huge)
    let text = NoticeText(hostile, serverHasActions: true)
    #expect(!text.body.unicodeScalars.contains { Label.isUnprintable($0) })
    #expect(text.body.utf8.count < 1_500)
    #expect(!text.escapedBody.contains("<") && text.escapedBody.contains("&lt;b&gt;Bank"))
  }

  @Test func namesOfPrograms() {
    #expect(NoticeText.name(of: app(nil, "/usr/bin/xclip")) == "xclip")
    #expect(NoticeText.name(of: app(nil, nil)) == "an unknown program")
    #expect(NoticeText.name(of: Subject(origin: .remote)) == "a program of another machine")
    #expect(NoticeText.name(of: .unknown) == "an unknown program")
    let unknown = AuditRecord(
      kind: .copy, selection: "clipboard", source: .unknown, verdict: .deny, reason: .builtInDefault, outcome: .emptied)
    let text = NoticeText(Notice(number: 1, record: unknown, isPersons: false, isLast: false), serverHasActions: true)
    #expect(text.body.hasPrefix("An unknown program may not copy."))
  }

  /// No record, whatever it holds, makes a notice without words.
  @Test func everyRecordHasWords() {
    for kind in AuditRecord.Kind.allCases {
      for outcome in AuditRecord.Outcome.allCases {
        for limit in [nil] + AuditRecord.Limit.allCases.map(Optional.some) {
          let text = NoticeText(notice(kind, outcome, limit: limit), serverHasActions: false)
          #expect(!text.summary.isEmpty && text.body.hasSuffix(".") && !text.body.contains("  "))
        }
      }
    }
  }
}
