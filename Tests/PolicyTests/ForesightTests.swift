import Policy
import Testing

/// What is known of a selection before its content is.
@Suite struct ForesightTests {
  private let ledger = app("Ledger", exe: "/opt/ledger", pid: 1)
  private let browser = app("Browser", exe: "/usr/bin/browser", pid: 2)
  private let vault = app("Vault", exe: "/usr/bin/vault", pid: 3)

  @Test func restrictedOnOneSelection() {
    let set = policy([
      rule("d", .deny) {
        $0.from = isClass("Ledger")
        $0.selections = ["clipboard"]
      },
      rule("p", .allow, line: 2) {
        $0.from = isClass("Vault")
        $0.actions = [.copy]
        $0.selections = ["primary"]
        $0.obligations.protect = true
      },
    ])
    #expect(set.isRestricted(ledger) && set.isRestricted(ledger, on: "clipboard"))
    #expect(!set.isRestricted(ledger, on: "primary"))
    #expect(set.isProtected(vault) && set.isProtected(vault, on: "primary") && !set.isProtected(vault, on: "clipboard"))
    // A rule that allows everything on one selection ends the matter there alone.
    let open = policy([rule("a", .allow) { $0.selections = ["primary"] }, rule("d", .deny)])
    #expect(!open.isRestricted(ledger, on: "primary") && open.isRestricted(ledger, on: "clipboard"))
    #expect(open.isRestricted(ledger))
  }

  @Test func foresight() throws {
    func foresight(_ set: PolicySet, to destination: Subject? = nil) -> Foresight {
      set.foresight(ofPasteBy: destination ?? browser, from: ledger, on: "primary")
    }
    func isFree(_ foresight: Foresight) -> Bool { if case .free = foresight { true } else { false } }
    func isRefused(_ foresight: Foresight) -> Bool { if case .refused = foresight { true } else { false } }
    #expect(isFree(foresight(.allowEverything)))
    #expect(isRefused(foresight(.locked)) && isFree(foresight(.locked, to: ledger)))
    let stays = policy([
      rule("d", .deny) {
        $0.from = isClass("Ledger")
        $0.to = isClass("Browser")
      }
    ])
    #expect(isRefused(foresight(stays)) && isFree(foresight(stays, to: vault)) && isFree(foresight(stays, to: ledger)))
    #expect(isRefused(foresight(policy([rule("q", .ask) { $0.to = isClass("Browser") }]))))
    #expect(isRefused(foresight(policy([rule("p", .private) { $0.from = isClass("Ledger") }]))))
    #expect(isRefused(foresight(policy([rule("c", .deny) { $0.actions = [.copy] }]))))
    // Its own content is an app's own, unless a rule says otherwise.
    let strict = policy([
      rule("d", .deny) {
        $0.to = isClass("Ledger")
        $0.includesSameApp = true
      }
    ])
    #expect(isRefused(foresight(strict, to: ledger)))
    // What depends on the content, or changes it, can't be said.
    let unclear: [(inout Rule) -> Void] = [
      { $0.size = SizeRange(over: 5) }, { $0.isSensitive = true }, { $0.targets = [.kind(.text)] },
    ]
    for condition in unclear { #expect(foresight(policy([rule("d", .deny, condition)])) == .open) }
    let changed: [(inout Rule) -> Void] = [
      { $0.obligations.plainText = true }, { $0.obligations.oneShot = true }, { $0.obligations.maxSize = 5 },
      { $0.obligations.expiresAfterSeconds = 5 },
    ]
    for term in changed {
      #expect(foresight(policy([rule("a", .allow, term)])) == .open)
      #expect(isFree(foresight(policy([rule("a", .allow, term)]), to: ledger)))
    }
    let replaced = policy([
      rule("d", .deny) {
        $0.to = isClass("Browser")
        $0.obligations.replacement = "x"
      }
    ])
    #expect(foresight(replaced) == .open)
  }
}
