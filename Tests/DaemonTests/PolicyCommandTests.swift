import Foundation
import Testing

@testable import XPasteBridge

/// `policy check` and `policy explain` as they are run.
struct PolicyCommandTests {
  private let folder = TemporaryDirectory()

  private func run(_ words: String...) -> (status: Int32?, output: String, complaint: String) {
    // A person's own files must not take part.
    let child = ChildRun(words, environment: ["XDG_CONFIG_HOME": folder.path])
    let status = child.wait()
    return (status, child.output, child.complaint)
  }

  private func file(_ text: String, _ name: String = "a.yaml") -> String {
    folder.write(text, name)
    return folder.path + "/" + name
  }

  @Test func findingsAreObjects() throws {
    let path = file("version: 1\ngroups: {g: [{exe: /a}]}\nrules:\n  - {frm: x, decision: deny}\n")
    let result = run("policy", "check", "--json", path)
    #expect(result.status == 1)
    let report = try JSON(reading: result.output.trimmingCharacters(in: .newlines))
    let error = try #require(report["errors"]?.elements.first)
    #expect(report["valid"]?.truth == false && report["errors"]?.elements.count == 1)
    #expect(error["kind"]?.text == "unknown-key" && error["file"]?.text == path)
    #expect(error["line"]?.number == 4 && error["column"]?.number == 6)
    #expect(error["message"]?.text == "expected a key of a rule, found `frm`")
    #expect(error["hint"]?.text == "did you mean `from`?")
    let warning = try #require(report["warnings"]?.elements.first)
    #expect(warning["kind"]?.text == "unused-group" && warning["line"]?.number == 2)
    #expect(report["failedExpectations"]?.elements.isEmpty == true)
  }

  @Test func failedExpectationsAreObjects() throws {
    let path = file("version: 1\nexpect:\n  - {from: {class: A}, decision: deny}\n")
    let result = run("policy", "check", "--json", path)
    #expect(result.status == 1)
    let report = try JSON(reading: result.output.trimmingCharacters(in: .newlines))
    let failed = try #require(report["failedExpectations"]?.elements.first)
    #expect(failed["kind"]?.text == "failed-expectation" && failed["line"]?.number == 3)
    #expect(failed["message"]?.text == "expected `deny`, the policy decides `allow`, by nothing that says otherwise")
    #expect(failed["hint"] == .null)
    #expect(run("policy", "check", path).complaint.hasPrefix(path + ":3:5: expected `deny`, the policy decides"))
  }

  @Test func countsAreGrammatical() {
    let one = file("version: 1\nrules: [{from: {exe: /a}, decision: deny}]\n")
    #expect(run("policy", "check", one).output == "1 file, 1 rule, no errors\n")
    let none = file("version: 1\n", "b.yaml")
    #expect(run("policy", "check", none, none).output == "2 files, 0 rules, no errors\n")
  }

  @Test func aUsersFile() {
    let path = file("version: 1\ndefault: deny\n")
    #expect(run("policy", "check", path).status == 0)
    let asUser = run("policy", "check", "--user", path)
    #expect(asUser.status == 1)
    #expect(asUser.complaint.contains("\(path):2:10: expected no `default` in a user's file, found one"))
    let managed = file("version: 1\ngroups: {g: [{exe: /a}]}\nrules: [{from: g, decision: ask}]\n", "m.yaml")
    let user = file("version: 1\nrules: [{from: g, decision: deny}]\n", "u.yaml")
    #expect(run("policy", "check", "--user", user, managed).output == "2 files, 2 rules, no errors\n")
    #expect(run("policy", "check", "--user", path + "x").complaint.contains("it doesn't exist"))
  }

  @Test func standardInput() {
    func check(_ text: String, _ words: String) -> ChildRun {
      let path = file(text, "in")
      let child = ChildRun(
        ["-c", "\"$0\" policy check \(words) < \"$1\"", Project.program, path], program: "/bin/sh",
        environment: ["XDG_CONFIG_HOME": folder.path])
      _ = child.wait()
      return child
    }
    let good = check("version: 1\nrules: [{from: {exe: /a}, decision: deny}]\n", "-")
    #expect(good.status == 0 && good.output == "1 file, 1 rule, no errors\n")
    let bad = check("version: 2\n", "-")
    #expect(bad.status == 1 && bad.complaint == "<stdin>:1:10: expected version 1, found `2`\n")
    let user = check("version: 1\ndefault: deny\n", "--user=-")
    #expect(user.status == 1 && user.complaint.contains("<stdin>:2:10: expected no `default` in a user's file"))
    #expect(check("version: 1\n", "- -").complaint.contains("can be read once only"))
  }

  @Test func explainKnowsSelections() {
    let path = file("version: 1\nboards: {finance: {members: any}}\nrules: [{from: {exe: /a}, decision: deny}]\n")
    for name in ["clipboard", "primary", "secondary", "finance"] {
      let result = run("policy", "explain", "--policy", path, "--from", "class=A", "--selection", name)
      #expect(result.status == 0, "\(name): \(result.complaint)")
    }
    let wrong = run("policy", "explain", "--policy", path, "--from", "class=A", "--selection", "finanse")
    #expect(wrong.status == 2)
    #expect(wrong.complaint.contains("not `finanse`; did you mean `finance`?"))
  }

  nonisolated static let facts: [(String, String)] = [
    ("Firefox", "`Firefox` is no fact of an app; write `class=Firefox`;"),
    ("/usr/bin/x", "`/usr/bin/x` is no fact of an app; write `exe=/usr/bin/x`;"),
    ("clas=Firefox", "`clas=Firefox` is no fact of an app; did you mean `class`?"),
    ("remot", "`remot` is no fact of an app; did you mean `remote`?"),
    ("", "`` is no fact of an app; facts are class, instance,"),
  ]

  @Test(arguments: facts) func factsHaveHints(_ row: (text: String, phrase: String)) {
    let failure = #expect(throws: UsageFailure.self) { try RequestReader.subject(row.text, pid: 1) }
    #expect(failure?.description.hasPrefix(row.phrase) == true, "\(failure?.description ?? "")")
  }
}
