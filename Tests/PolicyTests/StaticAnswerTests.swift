import Testing

@testable import Policy

/// What is said of an app beforehand has to hold for everything that it may ever try.
@Suite struct StaticAnswerTests {
  /// All there is in the small world of the reference.
  private static let contents = ["STRING", "text/html", "image/png", "x"].flatMap { target in
    [5, 10, 11, 64, 65, 1_000].flatMap { size in
      [true, false].map { ContentFacts(target: target, size: size, isSensitive: $0) }
    }
  }

  @Test func aDenialHoldsForEveryClipAndEveryApp() {
    var denied: [Action: Int] = [:]
    for seed in 0..<120 as Range<UInt64> {
      var world = World(seed: seed)
      let reference = Reference(managed: world.ruleset(side: "m"), user: world.ruleset(side: "u"))
      let set = PolicySet(managed: reference.managed, user: reference.user)
      for _ in 0..<4 {
        let subject = world.subject()
        let others = [subject] + (0..<4).map { _ in world.subject() }
        for action in Action.byCommand {
          guard let denial = set.staticDenial(of: action, by: subject) else { continue }
          denied[action, default: 0] += 1
          demand(denial.verdict == .deny && denial.grant == nil, "seed \(seed)")
          demand(set.hasStaticDenials, "seed \(seed): nobody would be asked")
          for content in Self.contents {
            guard action == .paste else {
              let request = Request(action: action, source: subject, content: content)
              demand(reference.answer(request).verdict == .deny, "seed \(seed): \(action)")
              continue
            }
            for source in others {
              let request = Request(action: .paste, source: source, destination: subject, content: content)
              demand(reference.answer(request).verdict == .deny, "seed \(seed): from \(source)")
            }
          }
        }
      }
    }
    for action in Action.byCommand { #expect(denied[action, default: 0] > 5, "\(action)") }
  }

  /// Where every content is denied by one ruleset's own rules, that is known beforehand.
  @Test func whatIsAlwaysDeniedIsFound() {
    var found = 0
    for seed in 0..<200 as Range<UInt64> {
      var world = World(seed: seed)
      let set = PolicySet(managed: world.ruleset(side: "m"), user: Ruleset())
      for _ in 0..<10 {
        let subject = world.subject()
        for action in [Action.copy, .cut] {
          guard let answer = set.evaluate(Request(action: action, source: subject)).decision, answer.verdict == .deny
          else { continue }
          found += 1
          demand(set.alwaysDenies(action, by: subject), "seed \(seed)")
        }
      }
    }
    #expect(found > 100)
  }

  /// Two denials with different words are a denial all the same, by the one that has no conditions.
  @Test func conditionsBeforeADenialDontMatter() {
    let vault = app("Vault")
    let set = policy([
      rule("pictures", .deny) { ($0.targets, $0.obligations.message) = ([.kind(.image)], "No pictures.") },
      rule("all", .deny),
    ])
    guard case .rule(let reference)? = set.staticDenial(of: .copy, by: vault)?.reason else {
      Issue.record("not denied")
      return
    }
    #expect(reference.name == "all")
    #expect(set.evaluate(Request(action: .copy, source: vault)) == .needsContent)
  }

  @Test func anotherSelectionsDenialIsNone() {
    let vault = app("Vault")
    #expect(!policy([rule("p", .deny) { $0.selections = ["primary"] }]).alwaysDenies(.copy, by: vault))
    #expect(policy([rule("c", .deny) { $0.selections = ["primary", "clipboard"] }]).alwaysDenies(.copy, by: vault))
  }

  /// A locked daemon refuses nearly everything, and still every app may use its own clips: no key is held back.
  @Test func aLockHoldsNothingBack() {
    let vault = app("Vault")
    #expect(PolicySet.locked.possibleActions(of: vault) == Set(Action.byCommand))
    #expect(!PolicySet.locked.hasStaticDenials && !PolicySet.allowEverything.hasStaticDenials)
  }

  @Test func cutsMatterWhereARuleTellsThemApart() {
    #expect(policy([rule("c", .deny) { $0.actions = [.cut] }]).distinguishesCuts)
    #expect(policy([rule("c", .deny) { $0.actions = [.copy, .paste] }]).distinguishesCuts)
    #expect(
      !policy([rule("c", .deny) { $0.actions = [.cut, .copy] }, rule("p", .deny) { $0.actions = [.paste] }])
        .distinguishesCuts)
  }

  @Test func chordsAreReadAsPeopleWriteThem() {
    #expect(KeyChord("ctrl+shift+c") == KeyChord("Shift+Control+C"))
    #expect(KeyChord("Ctrl+Shift+C")?.description == "Ctrl+Shift+C")
    for text in ["Shift+Insert", "Ctrl+KP_Insert", "XF86Paste", "Alt+BackSpace", "Super+F12", "Ctrl+;"] {
      #expect(KeyChord(text)?.description == text, "\(text)")
    }
    for text in ["", "Ctrl", "Ctrl+", "Strg+C", "Ctrl+Ctrl+C", "Ctrl+Banana", "C+Ctrl", "F36", "Ctrl++"] {
      #expect(KeyChord(text) == nil, "\(text)")
    }
    for name in KeySetName.allCases {
      for (action, chords) in KeySet(named: name).chords {
        #expect(Set(chords).count == chords.count)
        for chord in chords { #expect(KeySet(named: name).action(of: chord) == action) }
      }
    }
  }
}
