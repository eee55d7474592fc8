import Testing

@testable import Policy

@Suite struct ExplanationTests {
  let finance = app("SAPGUI", exe: "/opt/sap/gui", pid: 1)
  let browser = app("Firefox", exe: "/usr/bin/firefox", pid: 2)

  var set: PolicySet {
    var managed = ruleset(
      [
        rule("snippets", .allow, line: 5) {
          $0.from = .group("finance")
          $0.targets = [.kind(.text)]
          $0.size = SizeRange(upTo: 64)
        },
        rule("finance stays in finance", .deny, line: 9) {
          $0.from = .group("finance")
          $0.to = .not(.group("finance"))
          $0.obligations.message = "Finance data stays in finance applications."
        },
      ], groups: ["finance": .allOf([isClass("SAP*"), isExe("/opt/sap/**")])])
    managed.expectations = [
      Expectation(position: at(20), request: paste(finance, browser, "STRING", size: 10), verdict: .allow),
      Expectation(position: at(21), request: paste(finance, browser, "STRING", size: 100), verdict: .deny),
      Expectation(position: at(22), request: paste(browser, finance, "STRING"), verdict: .deny),
      Expectation(position: at(23), request: paste(finance, browser), verdict: .deny),
    ]
    return PolicySet(managed: managed, user: Ruleset())
  }

  @Test func text() {
    let text = set.explain(paste(finance, browser, "text/html", size: 100)).description
    #expect(
      text == """
        paste: deny, by rule `finance stays in finance` at 10.yaml:9:3; on these terms: message: Finance data stays in finance applications.

        The copy before it:
        copy on clipboard from class=SAPGUI,exe=/opt/sap/gui: text/html, 100 bytes
          managed:
            10.yaml:5:3: `snippets` (allow) doesn't match: targets: is `text/html`, rule wants `text`
            10.yaml:9:3: `finance stays in finance` (deny) doesn't match: actions: is copy, a rule with `to` matches pastes only
          user: no rules
          decision: allow, by nothing that says otherwise

        The paste itself:
        paste on clipboard from class=SAPGUI,exe=/opt/sap/gui to class=Firefox,exe=/usr/bin/firefox: text/html, 100 bytes
          managed:
            10.yaml:5:3: `snippets` (allow) doesn't match: targets: is `text/html`, rule wants `text`
            10.yaml:9:3: `finance stays in finance` (deny) matches
          user: no rules
          decision: deny, by rule `finance stays in finance` at 10.yaml:9:3; on these terms: message: Finance data stays in finance applications.
        """)
  }

  static let failures: [(@Sendable (inout Rule) -> Void, String)] = [
    ({ $0.actions = [.copy, .cut] }, "actions: is paste, rule wants `copy` or `cut`"),
    ({ $0.verdict = .private }, "actions: is paste, `private` doesn't apply to it"),
    ({ $0.from = isClass("SAP*") }, "from: class is `Firefox`, rule wants `SAP*`"),
    ({ $0.from = .unit(try! Glob("x")) }, "from: unit is not known, rule wants `x`"),
    ({ $0.apps = .group("finance") }, "apps: not in group `finance`"),
    ({ $0.to = .not(isClass("Note*")) }, "to: excluded by not (class=Note*)"),
    ({ $0.to = .unknown }, "to: the app is known, rule wants an unknown one"),
    ({ $0.to = .anyOf([isClass("A"), isClass("B")]) }, "to: none of: class=A or class=B"),
    (
      { $0.from = .allOf([isClass("Fire*"), isExe("/opt/**")]) },
      "from: exe is `/usr/bin/firefox`, rule wants `/opt/**`"
    ),
    ({ $0.selections = ["primary"] }, "selection: is `clipboard`, rule wants `primary`"),
    ({ $0.isSensitive = true }, "sensitive: is false, rule wants true"),
    ({ $0.size = SizeRange(over: 64, upTo: 100) }, "size: is 10 bytes, rule wants over 64 up to 100 bytes"),
    ({ $0.targets = [.kind(.text), .glob("image/*")] }, "targets: is `text/html`, rule wants `text` or `image/*`"),
  ]

  @Test(arguments: 0..<failures.count) func firstFailure(_ row: Int) {
    let (fill, wanted) = ExplanationTests.failures[row]
    let set = policy([rule("r", .deny, fill)], groups: ["finance": isClass("SAP*")])
    let steps = set.explain(paste(browser, app("Notes", pid: 4), "text/html")).managed
    #expect(steps.map(\.result) == [.failed(wanted)])
  }

  @Test func sameAppFailure() {
    let steps = policy([rule("r", .deny)]).explain(paste(browser, browser)).managed
    #expect(steps.map(\.result) == [.failed("same-app: an app's own clip, rule doesn't say `same-app: true`")])
    let open = policy([rule("r", .deny) { $0.targets = [.kind(.text)] }]).explain(copy(browser)).managed
    #expect(open.map(\.result) == [.mayDecide("depends on the content")])
  }

  @Test func expectations() {
    #expect(
      set.failedExpectations().map(\.description) == [
        "10.yaml:22:3: expected `deny`, the policy decides `allow`, by nothing that says otherwise",
        "10.yaml:23:3: expected `deny`, the answer depends on the content: add `target:` and `size:`",
      ])
  }

  /// A paste is refused by what its copy was allowed for.
  @Test func outcomeFollowsTheCopy() {
    let hidden = policy([rule("p", .private, line: 3) { $0.from = isClass("SAP*") }])
    let reason = Reason.outsideAudience(.rule(RuleReference(name: "p", position: at(3))))
    #expect(hidden.outcome(of: paste(finance, browser)).decision?.reason == reason)
    #expect(hidden.outcome(of: paste(finance, finance)).verdict == .allow)
    #expect(hidden.outcome(of: copy(finance)).verdict == .private)
    let denied = policy([rule("d", .deny) { $0.actions = [.copy] }])
    #expect(
      denied.outcome(of: paste(finance, finance)).verdict == .deny, "after a refused copy there is nothing to read")
    let narrowed = policy([rule("n", .allow) { $0.obligations.plainText = true }])
    #expect(narrowed.outcome(of: paste(finance, browser, "text/html")).verdict == .deny)
    #expect(narrowed.outcome(of: paste(finance, browser, "STRING")).verdict == .allow)
  }

  @Test func reasons() {
    let reference = RuleReference(name: "r", position: SourcePosition(file: "/etc/p/10.yaml", line: 31, column: 5))
    #expect("\(Reason.rule(reference))" == "rule `r` at /etc/p/10.yaml:31:5")
    #expect("\(Reason.fileDefault(at(4)))" == "the default at 10.yaml:4:3")
    #expect("\(Reason.builtInDefault)" == "nothing that says otherwise")
    #expect("\(Reason.sameApp)" == "an app's right to its own clip")
    #expect(
      "\(Reason.outsideAudience(.rule(reference)))" == "the clip's audience, set by rule `r` at /etc/p/10.yaml:31:5")
    #expect("\(Reason.locked)" == "the lock, since the policy files have errors")
  }

  /// Where not every paste comes by us, the answer says so.
  @Test func notesOnOtherSelections() {
    let onPrimary = set.explain(paste(finance, browser, "text/html", on: "primary"))
    #expect(
      onPrimary.description.split(separator: "\n")[1].hasPrefix(
        "note: `primary: guard` is in force: this is decided at"))
    #expect(set.explain(copy(finance, on: "primary")).note == nil)
    #expect(set.explain(paste(finance, browser)).note == nil)
    #expect(
      set.explain(copy(finance, on: "secondary")).note
        == "`secondary: off` is in force, so nothing is decided on this selection")
    var owning = set.managed
    owning.primary = .own
    #expect(PolicySet(managed: owning, user: Ruleset()).explain(paste(finance, browser, on: "primary")).note == nil)
  }

  /// Text that is put in the place of content isn't printed.
  @Test func termsDontShowReplacements() {
    var terms = Obligations()
    terms.replacement = "SECRET"
    #expect("\(terms)" == "replace-with")
  }

  @Test func overview() {
    let text = set.overview.description
    #expect(text.contains("  finance: class=SAP* and exe=/opt/sap/**  (managed, 10.yaml:1:3)"))
    #expect(
      text.contains("  snippets: from: finance; targets: text; size: up to 64 bytes → allow  (managed, 10.yaml:5:3)"))
    #expect(text.contains("  primary: guard  (in force)"))
    #expect(text.contains("  secondary: off  (in force)"))
    #expect(text.contains("  max-clip: 268435456"))
    let asking = policy([], byDefault: .ask).overview.description
    #expect(asking.contains("  default: ask  (managed, 10.yaml:99:3)"))
  }
}
