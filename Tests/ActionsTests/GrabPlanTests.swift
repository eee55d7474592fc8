import Policy
import Testing

@testable import Actions

@Suite struct GrabPlanTests {
  private static let control: UInt8 = 4
  private static let copy = KeyChord("Ctrl+C")!

  private func keys(_ chord: String, _ keyboard: Keyboard, group: Int = 0) -> Set<UInt8> {
    Set(keyboard.grabs(for: KeyChord(chord)!, group: group).map(\.key))
  }

  @Test func everyStateOfTheLockKeysCounts() {
    let grabs = Keyboards.make("us").grabs(for: Self.copy, group: 0)
    let wanted = [0, 2, 16, 18].map { KeyGrab(key: 54, modifiers: Self.control | $0) }
    #expect(Set(grabs) == Set(wanted), "alone, with Caps Lock, Num Lock and both")
  }

  @Test func numLockIsWhateverModifierCarriesIt() {
    let us = Keyboards.make("us")
    let moved = Keyboard(keys: us.keys, modifierKeys: [77: 32, 66: 2, 64: 8])
    let modifiers = Set(moved.grabs(for: Self.copy, group: 0).map(\.modifiers))
    #expect(modifiers == [4, 6, 36, 38])
    let without = Keyboard(keys: us.keys, modifierKeys: [66: 2, 64: 8])
    #expect(Set(without.grabs(for: Self.copy, group: 0).map(\.modifiers)) == [4, 6])
  }

  @Test func anotherGroupBringsOtherKeys() {
    let both = Keyboards.make("us", "dvorak")
    #expect(keys("Ctrl+C", both) == [Keyboards.us("c")])
    #expect(keys("Ctrl+C", both, group: 1) == [Keyboards.us("i")])
    #expect(keys("Ctrl+X", both, group: 1) == [Keyboards.us("b")])
  }

  /// Ctrl+J of Dvorak lies where the US layout has Ctrl+C: in its own group it is nobody's copy, and the other way round.
  @Test func aHarmlessKeyOfAnotherGroupIsLeftAlone() {
    let both = Keyboards.make("us", "dvorak")
    #expect(!keys("Ctrl+C", both, group: 1).contains(Keyboards.us("c")))
    #expect(!keys("Ctrl+C", both, group: 0).contains(Keyboards.us("i")))
  }

  @Test func aGroupWithoutLatinLettersTakesThemFromTheOther() {
    let both = Keyboards.make("us", "ru")
    for (chord, letter) in [("Ctrl+C", "c"), ("Ctrl+X", "x"), ("Ctrl+V", "v")] as [(String, Character)] {
      #expect(keys(chord, both) == [Keyboards.us(letter)])
      #expect(keys(chord, both, group: 1) == [Keyboards.us(letter)])
      #expect(keys(chord, Keyboards.make("ru")) == [Keyboards.us(letter)], "no group has them at all")
    }
    let withDvorak = Keyboards.make("dvorak", "ru")
    #expect(keys("Ctrl+C", withDvorak, group: 1) == [Keyboards.us("i")], "from the group that types it")
  }

  /// A key on the number pad is a digit or a movement, as Num Lock and Shift say.
  @Test func theNumberPadFollowsNumLock() {
    let us = Keyboards.make("us")
    let copies = us.grabs(for: KeyChord("Ctrl+KP_Insert")!, group: 0)
    #expect(Set(copies.map(\.modifiers)) == [4, 6], "with Num Lock it is Ctrl and a digit")
    let cuts = us.grabs(for: KeyChord("Shift+KP_Delete")!, group: 0)
    #expect(Set(cuts.map(\.modifiers)).isSuperset(of: [1, 3, 17, 19]), "Shift undoes Num Lock")
  }

  @Test func aModifierThatTheKeyboardLacksHoldsNothingBack() {
    let us = Keyboards.make("us")
    #expect(us.grabs(for: KeyChord("Super+C")!, group: 0).isEmpty)
    #expect(Set(us.grabs(for: KeyChord("Alt+W")!, group: 0).map(\.modifiers)) == [8, 10, 24, 26])
  }

  @Test func aPlanNamesTheActionOfEachKey() {
    let plan = GrabPlan([.copy, .cut], keys: KeySet(named: .ordinary), on: Keyboards.make("us"), group: 0)
    #expect(plan.actions[KeyGrab(key: 54, modifiers: 4)] == .copy)
    #expect(plan.actions[KeyGrab(key: 53, modifiers: 4)] == .cut)
    #expect(plan.actions[KeyGrab(key: 119, modifiers: 1)] == .cut, "Shift+Delete")
    #expect(plan.actions[KeyGrab(key: 55, modifiers: 4)] == nil, "pastes are allowed here")
    #expect(plan.chords[KeyGrab(key: 119, modifiers: 19)]?.description == "Shift+Delete")
  }

  /// In a terminal Ctrl+C ends a program.
  @Test func builtInSetsLeaveAloneWhatMeansSomethingElse() {
    let us = Keyboards.make("us")
    func all(_ name: KeySetName) -> Set<KeyGrab> {
      Set(GrabPlan(Set(Action.byCommand), keys: KeySet(named: name), on: us, group: 0).actions.keys)
    }
    let control = { (letter: Character) in KeyGrab(key: Keyboards.us(letter), modifiers: 4) }
    for letter in "cxvwyk" { #expect(!all(.terminal).contains(control(letter))) }
    #expect(all(.terminal).contains(KeyGrab(key: 54, modifiers: 5)), "Ctrl+Shift+C")
    for letter in "cxv" {
      #expect(!all(.emacs).contains(control(letter)), "a prefix in Emacs")
      #expect(!all(.vim).contains(control(letter)))
    }
    for letter in "wyk" { #expect(all(.emacs).contains(control(letter))) }
    #expect(all(.none).isEmpty)
  }
}
