import Policy
import Selection

@testable import BridgeCore

extension Surface {
  /// Selection events in any order, of any programs, under any policy, against the pure core.
  static let core = Surface(name: "core", longestInput: 1_024, seeds: CoreScript.seeds) { bytes throws(Finding) in
    var script = CoreScript(bytes)
    try script.play()
  }
}

/// Reads an input as what programs do, one after another.
struct CoreScript {
  private var input: InputReader
  private let scene: CoreScene
  private static let mostSteps = 96

  init(_ bytes: [UInt8]) {
    input = InputReader(bytes)
    scene = CoreScene(policy: input.one(ScenePolicy.all))
  }

  mutating func play() throws(Finding) {
    var steps = 0
    while !input.isAtEnd, steps < Self.mostSteps {
      steps += 1
      let word = input.byte()
      try step(Int(word & 0x0f))
      // With the highest bit the daemon doesn't come to look.
      if word & 0x80 == 0 { try scene.deliverAll() }
    }
    try scene.finish()
  }

  private mutating func step(_ kind: Int) throws(Finding) {
    switch kind {
    case 0, 1: copy()
    case 2: scene.answer(input.below(256))
    case 3: scene.storeChunk(input.below(256), isHasty: input.below(8) == 7)
    case 4: try scene.deliver()
    case 5: scene.clear(input.one([.set, .clientClosed, .windowDestroyed]))
    case 6: try wait()
    case 7: try takeChunks()
    case 8: try gone()
    case 9: try scene.replacePolicy(input.one(ScenePolicy.all))
    case 10: stray()
    case 11: try pasteAllListed()
    case 12: multiple()
    case 14: try scene.restart(policy: input.one([scene.bridge.policy] + ScenePolicy.all))
    case 15: try scene.allowOnce()
    default: request()
    }
  }

  private mutating func copy() {
    let program = input.one(Program.all)
    let shape = input.byte()
    let listings: [OwnerReply?] = [
      nil, nil, nil, nil, .refuse, .silent, .nothingStored, .whole(4), .chunks([8], ends: true),
    ]
    let listing = listings[Int(shape & 0x0f) % listings.count]
    let replies = (0..<Int(shape >> 4) % 6 + 1).map { _ in
      let target = input.one(scene.atoms.content)
      let how = input.byte()
      return (target: target, reply: Self.replies[Int(how & 0x7f) % Self.replies.count], isPrompt: how & 0x80 == 0)
    }
    scene.copy(by: program, listing: listing, replies: replies)
  }

  private static let replies: [OwnerReply] = [
    .whole(0), .whole(1), .whole(20), .whole(64), .whole(65), .whole(200), .whole(262_144), .whole(262_145),
    .whole(600_000), .typed(format: 32, 8), .typed(format: 16, 7), .typed(format: 0, 4), .atomList(3), .atomList(0),
    .secretWord, .chunks([3, 4], ends: true), .chunks([], ends: true), .chunks([300_000, 10], ends: true),
    .chunks([5, 5], ends: false), .contradicting, .announcedTwice, .vanishing, .nothingStored, .refuse, .silent,
  ]

  private mutating func wait() throws(Finding) {
    let scale = input.byte()
    let milliseconds = [1, 99, 100, 499, 1_000, 2_000, 5_000, 10_000, 20_000, 61_000][Int(scale & 0x0f) % 10]
    try scene.wait(milliseconds: milliseconds, isHeldUp: scale & 0x80 != 0)
  }

  private mutating func requestor() -> (program: Program, window: Window) {
    let byte = Int(input.byte())
    let program = Program.all[byte % Program.all.count]
    return (program, program.requestor(byte >> 6))
  }

  private mutating func request() {
    let (program, window) = requestor()
    let choice = input.byte()
    let targets = scene.atoms.content + scene.atoms.other
    let selection = choice >= 0xf0 ? scene.atoms.known.clipboardManager : scene.atoms.known.clipboard
    scene.request(
      targets[Int(choice) % targets.count], by: program, window: window, property: input.one(scene.atoms.properties),
      selection: selection, pairs: nil)
  }

  private mutating func multiple() {
    let (program, window) = requestor()
    let count = input.byte()
    var pairs: [AtomPair] = []
    let targets = scene.atoms.content + scene.atoms.other
    for _ in 0..<Int(count & 0x0f) {
      pairs.append(AtomPair(target: input.one(targets), property: input.one(scene.atoms.properties)))
    }
    if count & 0x40 != 0 { pairs += Array(repeating: AtomPair(target: targets[0], property: Atom(950)), count: 100) }
    scene.request(
      scene.atoms.known.multiple, by: program, window: window, property: Atom(count & 0x20 != 0 ? 0 : 940),
      selection: scene.atoms.known.clipboard, pairs: count & 0x80 != 0 ? nil : pairs)
  }

  /// Requestors take what lies there, at once or up to some chunks.
  private mutating func takeChunks() throws(Finding) {
    let byte = input.byte()
    let open = scene.bridge.transfers.keys.sorted { ($0.window.id, $0.property.id) < ($1.window.id, $1.property.id) }
    guard !open.isEmpty else { return }
    let key = open[Int(byte & 0x1f) % open.count]
    for _ in 0...Int(byte >> 5) { scene.send(.propertyDeleted(window: key.window, property: key.property)) }
  }

  private mutating func gone() throws(Finding) {
    let (_, window) = requestor()
    let property = input.one(scene.atoms.properties)
    if property == .none {
      scene.send(.requestorGone(window))
    } else {
      scene.send(.storeRejected(window: window, property: property))
    }
  }

  /// Events that belong to nothing: the core has to take them for what they are.
  private mutating func stray() {
    let id = ConversionID(UInt64(input.below(64)))
    switch input.below(5) {
    case 0: scene.send(.conversionAnswered(id, stored: input.truth()))
    case 1: scene.send(.chunkStored(id))
    case 2: scene.send(.claimSettled(selection: scene.atoms.known.clipboardManager, .held))
    case 3: scene.send(.deadlineReached)
    default: scene.send(.propertyDeleted(window: Window(UInt32(input.byte())), property: Atom(7)))
    }
  }

  /// What is listed to a program is what converts for it (product.md 5.5), as far as the limits of transfers go.
  private mutating func pasteAllListed() throws(Finding) {
    try scene.deliverAll()
    let (program, window) = requestor()
    let clipboard = scene.atoms.known.clipboard
    func ask(_ target: Target, _ property: Atom) throws(Finding) -> Bool {
      scene.request(target, by: program, window: window, property: property, selection: clipboard, pairs: nil)
      try scene.deliverAll()
      return scene.promises.lastAnswer?.property == property
    }
    guard try ask(scene.atoms.known.targets, Atom(910)) else { return }
    let listed = scene.promises.lastList
    for target in scene.atoms.content where listed.contains(target.atom) {
      let isServed = try ask(target, Atom(911 + target.atom.id))
      let mine = scene.bridge.transfers.keys.count { $0.window.id >> 21 == window.id >> 21 }
      let limits = scene.bridge.policy.limits
      try Finding.unless(
        isServed || mine >= limits.transfersPerClient || scene.bridge.transfers.count >= limits.transfers,
        "\(target) is listed and doesn't convert")
    }
  }

  // MARK: seeds

  /// Copies and pastes under each policy, with the ways of answering spread over them, and what takes several steps.
  static func seeds() -> [(name: String, bytes: [UInt8])] {
    ScenePolicy.all.indices.map { policy in ("policy-\(policy)", seed(policy: policy)) } + [
      // The vault copies; the browser, the tool, the vault and the browser again paste.
      ("one-shot", [8, 0, 4, 0x10, 0, 2, 2, 2, 13, 3, 0, 1, 13, 5, 0, 1, 13, 4, 0, 1, 13, 3, 2, 2]),
      // A large copy; three transfers to one client and one to another; a second copy meanwhile, and time.
      (
        "limits",
        [11] + large + [13, 2, 0, 1, 13, 2, 0, 2, 13, 0x42, 0, 3, 13, 1, 0, 1] + large + large + [7, 0x60, 6, 9]
      ),
      // The owner ends while its last answer is on the wire, and the policy changes before that is noticed.
      (
        "overtaken",
        [0, 0, 0, 0, 0, 0x82, 0x82, 0, 0x85, 1, 0x84, 0x89, 3, 6, 0, 13, 3, 0, 1]
      ),
      // The report copies, the browser is refused and allowed once, and pastes twice; the tool and a next copy meanwhile.
      (
        "allow-once",
        [9] + asked + [15, 13, 5, 0, 1, 11, 3, 13, 3, 0, 1, 6, 5, 13, 3, 0, 1, 15, 6, 8, 6, 8, 13, 3, 0, 1] + asked
          + [15, 0, 2, 0, 0, 2, 13, 3, 0, 1] + asked + [15, 9, 9, 13, 3, 0, 1, 15, 15]
      ),
      // A policy that changes while a clip is held and while it is sent.
      ("reload", [0] + large + [13, 3, 0, 1, 9, 2, 11, 3, 11, 2, 7, 0xe0, 9, 0, 11, 3, 9, 1, 11, 3, 11, 0]),
      // The daemon is killed while it holds a clip, while it sends it, and while it asks for the next.
      (
        "restart",
        [0] + large + [11, 3, 14, 0, 11, 3, 13, 3, 0, 1, 14, 4, 11, 3, 11, 1, 0, 3, 0, 0, 0x82, 14, 1, 2, 0, 11, 4]
      ),
    ]
  }

  private static let asked: [UInt8] = [0, 2, 0, 0, 2, 13, 3, 0, 1]
  private static let large: [UInt8] = [0, 0, 0x00, 0, 7]

  private static func seed(policy: Int) -> [UInt8] {
    var numbers: [Int] = [policy]
    for copy in 0..<4 {
      numbers += [0, (policy + copy) % 8, 0x30]
      for form in 0..<4 {
        numbers.append((copy + form) % 9)
        numbers.append((policy + copy * 4 + form) % replies.count)
      }
      // Chunks, pastes of all that is listed, a plain paste, its chunks, a MULTIPLE request, time.
      numbers += [3, 0, 3, 1, 11, 3 + copy, 11, 0, 13, 3, 0, 1, 7, 0x60]
      numbers += [12, 4, 2, 0, 1, 2, 2, 6, copy * 2]
    }
    return numbers.map { UInt8($0) }
  }
}
