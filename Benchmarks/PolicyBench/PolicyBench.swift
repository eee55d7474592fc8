import Glibc
import Policy
import PolicyFile

/// Measures processor time, so that other programs' work doesn't count.
struct ProcessorClock {
  func measure(_ work: () -> Void) -> Duration {
    let before = now
    work()
    return now - before
  }

  private var now: Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

/// Measures what a decision costs, warm and cold, with 10 and with 10,000 rules, and what loading them costs. Prints one
/// line a figure: name, value, unit. `PolicyBench load` measures loading alone, which is easier to profile.
@main
struct PolicyBench {
  enum Shape: String, CaseIterable {
    /// Rules that name classes literally.
    case literal
    /// Rules that name classes by pattern.
    case pattern
    /// Rules for all apps that differ by target.
    case target
    /// Rules for all apps that differ by size.
    case size
  }

  static let loadRounds = 5

  static func main() {
    let loadsAlone = CommandLine.arguments.dropFirst().first == "load"
    let clock = ProcessorClock()
    for shape in Shape.allCases {
      var warm: [Int: Double] = [:]
      for count in [10, 10_000] {
        let text = policyText(shape, rules: count)
        let file = SourceFile(path: "bench.yaml", bytes: Array(text.utf8))
        var loaded: LoadedPolicy?
        // The least of a few: what is above it was spent on other programs and on memory that is fetched once.
        let loading = (0..<loadRounds).map { _ in
          clock.measure { loaded = try? PolicyLoader.load(managed: [file], user: []).get() }
        }
        guard let policy = loaded?.policy else { fatalError("the bench policy of shape \(shape) has errors") }
        show("\(shape.rawValue) load \(count)", loading.min() ?? .zero, per: 1, unit: "ms")
        if loadsAlone { continue }
        warm[count] = decisions(policy, shape, count, clock)
      }
      if let few = warm[10], let many = warm[10_000] { print("\(shape.rawValue) ratio \(many / few)") }
    }
  }

  /// Nanoseconds of a warm decision.
  static func decisions(_ policy: PolicySet, _ shape: Shape, _ count: Int, _ clock: ProcessorClock) -> Double {
    let subjects = (0..<20).map { number in subject("App\(number * count / 20)", number) }
    var requests: [Request] = []
    for source in subjects {
      for destination in subjects {
        let content = ContentFacts(target: "x-target-\(count - 1)", size: 1_000)
        requests.append(Request(action: .paste, source: source, destination: destination, content: content))
      }
    }
    let cold = clock.measure { for request in requests.prefix(20) { use(policy.evaluate(request)) } }
    show("\(shape.rawValue) cold \(count)", cold, per: 20, unit: "us")
    let rounds = 500
    let warm = clock.measure {
      for _ in 0..<rounds { for request in requests { use(policy.evaluate(request)) } }
    }
    show("\(shape.rawValue) warm \(count)", warm, per: rounds * requests.count, unit: "us")
    return nanoseconds(warm) / Double(rounds * requests.count)
  }

  static func policyText(_ shape: Shape, rules: Int) -> String {
    var text = "version: 1\nrules:\n"
    for number in 0..<rules {
      text += "  - name: n\(number)\n"
      switch shape {
      case .literal: text += "    from: {class: App\(number)}\n    to: {class: Other\(number)}\n"
      case .pattern: text += "    from: {class: \"App\(number)*z\"}\n    to: {class: Other\(number)}\n"
      case .target: text += "    targets: [x-target-\(number)]\n"
      case .size: text += "    size: {over: \(2_000 + number), up-to: \(2_001 + number)}\n"
      }
      text += "    decision: deny\n"
    }
    return text
  }

  static func subject(_ name: String, _ number: Int) -> Subject {
    Subject(
      origin: .local(ProcessIdentity(id: Int32(number + 1), startTime: 7)), windowClass: Fact(name, .declared),
      instance: Fact(name, .declared), executable: Fact("/usr/bin/\(name)", .attested),
      unit: Fact("app-\(name).service", .attested))
  }

  @inline(never) static func use(_ evaluation: Evaluation) {}

  static func nanoseconds(_ duration: Duration) -> Double {
    Double(duration.components.seconds) * 1e9 + Double(duration.components.attoseconds) / 1e9
  }

  static func show(_ name: String, _ duration: Duration, per count: Int, unit: String) {
    let scale = unit == "ms" ? 1e6 : 1e3
    print("\(name) \(nanoseconds(duration) / Double(count) / scale) \(unit)")
  }
}
