import Policy

/// Policies of the scenarios, built without files.
enum Policies {
  static func rule(_ name: String, _ verdict: Verdict, line: Int = 1, _ change: (inout Rule) -> Void = { _ in }) -> Rule
  {
    let position = SourcePosition(file: "test.yaml", line: line, column: 1)
    var rule = Rule(RuleReference(name: name, position: position), verdict: verdict)
    change(&rule)
    return rule
  }

  static func apps(_ names: String...) -> Matcher { .anyOf(names.map { .windowClass(Glob(literally: $0)) }) }

  static func set(_ rules: [Rule], boards: [BoardPolicy] = [], limits: [LimitName: Int] = [:]) -> PolicySet {
    var ruleset = Ruleset()
    ruleset.files = ["test.yaml"]
    ruleset.rules = rules
    ruleset.boards = boards
    ruleset.limits = limits
    ruleset.clipboard = .own
    return PolicySet(managed: ruleset, user: Ruleset())
  }

  /// Allows everything, and takes CLIPBOARD after every copy nevertheless.
  static let owning: PolicySet = {
    var ruleset = Ruleset()
    ruleset.clipboard = .own
    return PolicySet(managed: ruleset, user: Ruleset())
  }()

  static let denyLedgerCopies = set([
    rule("no copies", .deny) {
      $0.from = apps("Ledger"); $0.actions = [.copy, .cut]
    }
  ])

  static let financeStays = set([
    rule("finance stays", .deny, line: 7) {
      $0.from = apps("Ledger", "Report")
      $0.to = .not(apps("Ledger", "Report"))
      $0.obligations.message = "Finance stays."
    }
  ])

  /// Only content tells who may have what the ledger offers.
  static let allowedInShort = set([
    rule("short may leave", .allow) {
      $0.from = apps("Ledger")
      $0.size = SizeRange(upTo: 2)
    },
    rule("finance stays", .deny, line: 2) {
      $0.from = apps("Ledger")
      $0.to = .not(apps("Ledger"))
    },
  ])

  static let vaultIsPrivate = set([
    rule("vault is private", .private, line: 3) {
      $0.apps = apps("Vault")
      $0.actions = [.copy, .cut]
      $0.obligations.expiresAfterSeconds = 20
    }
  ])

  static let financeBoard = set(
    [rule("finance keeps", .private) { $0.from = apps("Ledger") }],
    boards: [
      BoardPolicy(
        name: "com.acme.finance", position: SourcePosition(file: "test.yaml", line: 2, column: 3),
        members: apps("Ledger", "Report"))
    ])
}
