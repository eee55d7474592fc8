import ContentActions
import Policy
import Testing

@Suite struct ContentActionTests {
  private func action(_ accepts: [TargetPattern], makes: [String]) -> ContentAction {
    ContentAction(
      name: "a", title: "A", position: SourcePosition(file: "a.yaml", line: 1, column: 1), accepts: accepts,
      work: .builtIn(.plainText), makes: makes)
  }

  @Test func firstPatternThatMatchesWins() {
    let action = action([.glob("image/png"), .kind(.image)], makes: ["x"])
    #expect(action.input(among: ["image/jpeg", "text/plain", "image/png"]) == "image/png")
    #expect(action.input(among: ["image/jpeg", "image/bmp"]) == "image/jpeg")
    #expect(action.input(among: ["text/plain"]) == nil)
  }

  @Test func sameIsWhatWasTaken() {
    #expect(action([], makes: ["same", "image/png"]).outputs(from: "image/jpeg") == ["image/jpeg", "image/png"])
    #expect(action([], makes: ["same", "image/png"]).outputs(from: "image/png") == ["image/png"])
  }

  @Test func helperReadsWhatTheDaemonSays() {
    var limits = ActionLimits()
    limits.milliseconds = 1_001
    let command = ContentAction.Work.command(path: "/usr/bin/tr", arguments: ["a", "", "built-in"])
    let order = HelperProtocol.order(
      HelperProtocol.arguments(for: command, program: "/opt/tr", input: "x", limits: limits))
    #expect(order?.work == .exec(path: "/opt/tr", words: ["/usr/bin/tr", "a", "", "built-in"]))
    #expect(order?.seconds == 2 && order?.memoryBytes == limits.memoryBytes)
    for builtIn in BuiltIn.allCases {
      let words = HelperProtocol.arguments(
        for: .builtIn(builtIn), program: "/opt/helper", input: "t y", limits: limits)
      #expect(HelperProtocol.order(words)?.work == .builtIn(builtIn, input: "t y"))
    }
  }

  @Test(arguments: [
    [], ["1", "1"], ["1", "1", "exec"], ["1", "1", "exec", "/x"], ["0", "1", "exec", "/x", "x"],
    ["1", "-1", "exec", "/x", "x"], ["1", "1", "built-in", "nothing", "x"], ["1", "1", "built-in", "thumbnail"],
    ["a", "1", "exec", "/x", "x"],
  ]) func helperRefusesOtherWords(_ words: [String]) {
    #expect(HelperProtocol.order(words) == nil)
  }

  @Test func statusesComeBack() {
    let builtIn = ContentAction.Work.builtIn(.thumbnail)
    for failure in [ActionFailure.notClosed, .noSandbox, .noProgram, .notApplicable, .undecodable, .memoryLimit] {
      #expect(HelperProtocol.failure(status: HelperProtocol.status(of: failure), of: builtIn) == failure)
    }
    let command = ContentAction.Work.command(path: "/x", arguments: [])
    #expect(HelperProtocol.failure(status: 10, of: command) == .failed, "a command's own status means what it means")
    #expect(HelperProtocol.failure(status: 0, of: command) == nil)
  }
}
