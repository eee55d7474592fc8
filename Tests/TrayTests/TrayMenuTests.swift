import Testing

@testable import Tray

struct TrayMenuTests {
  static let refusal = TrayState.Refusal(
    action: "paste", source: .init("Ledger", "Ledger (/opt/ledger/bin/ledger, pid 7)"),
    destination: .init("Firefox", "Firefox (pid 8)"), reason: "finance stays in finance",
    place: "/etc/xpastebridge/policy.d/10.yaml:5", message: "Finance data stays.", count: 3, clock: "9:05")

  private func state(_ standing: TrayState.Standing = .inForce, _ change: (inout TrayState) -> Void = { _ in })
    -> TrayState
  {
    var state = TrayState(display: ":0", standing: standing, summary: "2 policy files in force")
    change(&state)
    return state
  }

  private func labels(_ item: MenuItem) -> [String] { item.children.map(\.label) }

  private func item(_ id: Int32, of state: TrayState) -> MenuItem? { TrayMenu.menu(of: state).item(id) }

  nonisolated static let faces: [(TrayState.Standing, Bool, TraySign, String, String)] = [
    (.inForce, false, .guarding, "Active", "Guarding :0"),
    (.lastGood, false, .attention, "NeedsAttention", "Guarding :0, policy files have errors"),
    (.locked, false, .attention, "NeedsAttention", "Locked on :0: policy files have errors"),
    (.inForce, true, .lockdown, "Active", "Lockdown on :0"),
    (.lastGood, true, .lockdown, "NeedsAttention", "Lockdown on :0"),
    (.locked, true, .lockdown, "NeedsAttention", "Lockdown on :0"),
  ]

  @Test(arguments: faces)
  func everyStateHasItsFace(
    _ row: (standing: TrayState.Standing, isLockedDown: Bool, sign: TraySign, status: String, headline: String)
  ) {
    let face = TrayFace(state(row.standing) { $0.isLockedDown = row.isLockedDown })
    #expect(face.sign == row.sign)
    #expect(face.status == row.status)
    #expect(face.headline == row.headline)
    #expect(face.sign.iconName == "xpastebridge-\(row.sign)")
  }

  @Test func toolTipIsNoMarkupOfOthers() {
    let face = TrayFace(
      state(.locked) {
        $0.fault = "a.yaml:1:1: found `<b>&`"
        $0.isEnforced = false
      })
    #expect(
      face.description
        == "2 policy files in force<br/>a.yaml:1:1: found `&lt;b&gt;&amp;`<br/>"
        + "The policy isn't enforced: what it would refuse is only written down")
  }

  @Test func quietMenu() {
    let menu = TrayMenu.menu(of: state())
    #expect(labels(menu) == ["Guarding :0", "2 policy files in force", "", "No refusals so far", "", "Lockdown"])
    #expect(menu.children.map(\.isEnabled) == [false, false, true, false, true, true])
    #expect(menu.children.map { $0.kind == .separator } == [false, false, true, false, true, false])
  }

  @Test func faultsAndTrialsAreSaid() {
    let menu = TrayMenu.menu(
      of: state(.lastGood) {
        $0.fault = "a.yaml:1:1: wrong"
        $0.isEnforced = false
      })
    #expect(menu.children[2].label == "a.yaml:1:1: wrong")
    #expect(menu.children[3].label == TrayMenu.trialLine)
  }

  nonisolated static let locks: [(Bool, Bool, Bool, Int32, String)] = [
    (false, true, true, 0, "Lockdown"), (false, false, true, 0, "Lockdown"), (true, true, true, 1, "Lockdown"),
    (true, false, false, 1, "Lockdown (the policy doesn't let it be lifted)"),
  ]

  @Test(arguments: locks)
  func lockdownIsATick(_ row: (isOn: Bool, lifts: Bool, isEnabled: Bool, mark: Int32, label: String)) throws {
    let found = item(
      TrayMenu.lockdown,
      of: state {
        $0.isLockedDown = row.isOn
        $0.liftsLockdown = row.lifts
      })
    let properties = try #require(found).properties
    #expect(properties["toggle-type"] == .text("checkmark"))
    #expect(properties["toggle-state"] == .number(row.mark))
    #expect(properties["enabled"] == (row.isEnabled ? nil : .truth(false)))
    #expect(properties["label"] == .text(row.label))
  }

  @Test func refusalSaysWhoWhatAndWhy() throws {
    let menu = try #require(
      item(
        TrayMenu.refusals,
        of: state {
          $0.refusals = [
            Self.refusal,
            TrayState.Refusal(action: "copy", source: .init("Vault", "Vault"), reason: "lockdown", clock: "12:00"),
          ]
        }))
    #expect(menu.properties["children-display"] == .text("submenu"))
    #expect(
      labels(menu) == [
        "9:05  paste  Ledger → Firefox: finance stays in finance (3 times)", "12:00  copy  Vault: lockdown",
      ])
    #expect(
      labels(menu.children[0]) == [
        "From: Ledger (/opt/ledger/bin/ledger, pid 7)", "To: Firefox (pid 8)", "Decided by: finance stays in finance",
        "Written in: /etc/xpastebridge/policy.d/10.yaml:5", "Finance data stays.",
      ])
    #expect(labels(menu.children[1]) == ["From: Vault", "Decided by: lockdown"])
  }

  @Test func boardsAreNamesAndNumbers() throws {
    let some = try #require(
      item(TrayMenu.boards, of: state { $0.boards = [.init(name: "a.b", items: 1), .init(name: "c", items: 0)] }))
    #expect(labels(some) == ["a.b: 1 item", "c: 0 items"])
    let many = (1...30).map { TrayState.BoardLine(name: "board.\($0)", items: $0) }
    let menu = try #require(item(TrayMenu.boards, of: state { $0.boards = many }))
    #expect(menu.children.count == TrayMenu.boardLimit + 1)
    #expect(menu.children.last?.label == "10 more")
  }

  /// However full the menu, a number stands for one item.
  @Test func numbersAreUnique() {
    let full = state(.lastGood) {
      $0.fault = "x"
      $0.isEnforced = false
      $0.refusals = Array(repeating: Self.refusal, count: 50)
      $0.boards = (1...50).map { TrayState.BoardLine(name: "b\($0)", items: $0) }
    }
    let all = TrayMenu.menu(of: full).all
    #expect(Set(all.map(\.id)).count == all.count)
    #expect(all.count == 1 + 9 + TrayMenu.refusalLimit * 6 + TrayMenu.boardLimit + 1)
    for item in all { #expect(TrayMenu.menu(of: full).item(item.id) == item) }
    #expect(TrayMenu.menu(of: full).item(77) == nil)
    #expect(TrayMenu.menu(of: full).item(-1) == nil)
  }

  // MARK: layouts

  @Test func underlinesAreNoKeys() {
    #expect(MenuItem(1, "_a__b_").properties["label"] == .text("__a____b__"))
  }

  @Test func defaultsAreLeftOut() {
    #expect(MenuItem(1).properties == [:])
    #expect(MenuItem(1, kind: .separator).properties == ["type": .text("separator")])
    #expect(MenuItem(1, "x", isEnabled: false).properties == ["label": .text("x"), "enabled": .truth(false)])
    #expect(MenuItem(1, "x", isEnabled: false).properties(named: ["enabled", "no"]) == ["enabled": .truth(false)])
    for item in TrayMenu.menu(of: state { $0.refusals = [Self.refusal] }).all {
      for (name, value) in item.properties {
        #expect(MenuItem.defaults[name] != nil && MenuItem.defaults[name] != value)
      }
    }
  }

  @Test func depthCutsLevels() {
    let menu = TrayMenu.menu(of: state { $0.refusals = [Self.refusal] })
    func depth(_ item: MenuItem) -> Int { (item.children.map(depth).max() ?? -1) + 1 }
    #expect(depth(menu) == 3)
    for levels in 0...3 { #expect(depth(menu.pruned(to: Int32(levels))) == levels) }
    #expect(menu.pruned(to: -1) == menu)
    #expect(menu.pruned(to: 9) == menu)
    // What is cut off is still said to be there.
    #expect(menu.pruned(to: 0).properties == ["children-display": .text("submenu")])
  }

  @Test func changesOfItemsThatStay() {
    let before = TrayMenu.menu(of: state())
    let now = TrayMenu.menu(
      of: state {
        $0.isLockedDown = true
        $0.liftsLockdown = false
      })
    let change = MenuChange(from: before, to: now)
    #expect(!change.isLayoutNew)
    #expect(
      change.updates == [
        .init(id: TrayMenu.headline, properties: ["label": .text("Lockdown on :0")]),
        .init(
          id: TrayMenu.lockdown,
          properties: [
            "label": .text("Lockdown (the policy doesn't let it be lifted)"), "toggle-state": .number(1),
            "enabled": .truth(false),
          ]),
      ])
    #expect(change.removals == [])
    let back = MenuChange(from: now, to: before)
    #expect(back.removals == [.init(id: TrayMenu.lockdown, names: ["enabled"])])
    #expect(MenuChange(from: now, to: now) == MenuChange(from: before, to: before))
  }

  @Test func changesOfTheLayout() {
    let none = TrayMenu.menu(of: state())
    let one = TrayMenu.menu(of: state { $0.refusals = [Self.refusal] })
    let change = MenuChange(from: none, to: one)
    #expect(change.isLayoutNew)
    #expect(change.updates.map(\.id) == [TrayMenu.refusals])
    #expect(change.removals == [.init(id: TrayMenu.refusals, names: ["enabled"])])
    var other = Self.refusal
    other.count = 4
    let more = MenuChange(from: one, to: TrayMenu.menu(of: state { $0.refusals = [other] }))
    #expect(!more.isLayoutNew)
    #expect(more.updates.count == 1)
  }
}
