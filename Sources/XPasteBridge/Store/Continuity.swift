import BridgeCore
import ClipStore
@preconcurrency import Glibc
import GuardedMemory
import Selection
import X11

/// What lets content and waiting requests outlive the process: it is kept by the service manager, and taken up by the
/// next start. Without a service manager nothing is kept.
final class Continuity {
  /// How much content is moved at a time between two looks at the X connection. Our choice: 1 ms.
  private static let stepBytes = 2 << 20
  private static let ledgerName = "requests"
  private static let clipPrefix = "clip-"

  /// A clip on its way into memory that can be handed over.
  private struct Move {
    let held: HeldClip
    let ranges: [Range<Int>]
    let descriptor: OwnedDescriptor
    let pages: GuardedPages
    var form = 0
    var chunk = 0
  }

  /// Says something in the journal.
  var say: (String, Priority) -> Void = { _, _ in }
  /// The ledger of requests; `nil` before ``begin(at:)``, and where nothing is kept.
  private(set) var ledger: LedgerMemory?

  /// Whether the run before has handed over that a lockdown is on.
  private(set) var keptLockdown = false

  private let isKept: Bool
  private var failure: SystemFailure?
  private var inheritedClips: [String: OwnedDescriptor] = [:]
  private var inheritedLedger: OwnedDescriptor?
  private var place: Place?
  private var moves: [NamedAtom: Move] = [:]
  private var queue: [NamedAtom: HeldClip] = [:]
  private var stored: [NamedAtom: GuardedPages] = [:]

  /// Takes what the service manager hands us, if there is one. Before anything else opens descriptors.
  init() {
    isKept = DescriptorStore.isThere
    guard isKept else { return }
    for (name, descriptor) in DescriptorStore.inherited() {
      if name == Self.ledgerName {
        inheritedLedger = descriptor
      } else if name == Lockdown.descriptorName {
        keptLockdown = true
      } else if name.hasPrefix(Self.clipPrefix) {
        inheritedClips[String(name.dropFirst(Self.clipPrefix.count))] = descriptor
      } else {
        DescriptorStore.drop(name)
      }
    }
  }

  /// Hands over that a lockdown is on, or takes that back. What keeps it besides is the lockdown's own.
  func keepLockdown(_ isOn: Bool) {
    guard isKept else { return }
    do throws(SystemFailure) {
      guard isOn else { return DescriptorStore.drop(Lockdown.descriptorName) }
      try DescriptorStore.keep(
        Posix.memfd(Lockdown.descriptorName, byteCount: 0), as: Lockdown.descriptorName)
    } catch {
      say("the service manager doesn't keep the lockdown: \(error)", .warning)
    }
  }

  // MARK: Start

  /// Opens the ledger for `place`; what the run before left there has to be answered, and then ``ledger`` be emptied by
  /// ``beginLedger()``.
  func begin(at place: Place) -> [RequestFields] {
    self.place = place
    guard isKept else {
      say("content doesn't survive a crash: no service manager keeps it", .information)
      return []
    }
    let contents = readLedger()
    if contents?.isRestoring == true { dropInherited("the run before ended while it took that up") }
    guard let contents, contents.server == place.server, contents.boot == place.boot else { return [] }
    let before = "of the run before"
    if contents.transfers > 0 {
      say("incremental transfers \(before) that were cut off: \(contents.transfers)", .notice)
    }
    if contents.unkept > 0 { say("requests \(before) that were not kept: \(contents.unkept)", .warning) }
    if !contents.waiting.isEmpty { say("requests \(before) that are refused now: \(contents.waiting.count)", .notice) }
    return contents.waiting
  }

  /// Maps the ledger of the run before, whatever is in it: its memory serves again.
  private func readLedger() -> RequestLedger? {
    guard let descriptor = inheritedLedger else { return nil }
    inheritedLedger = nil
    ledger = LedgerMemory(descriptor)
    do throws(StoreError) {
      guard let ledger else { throw .foreign }
      return try ledger.contents()
    } catch {
      say("the ledger of requests of the run before is dropped: \(error)", .warning)
      return nil
    }
  }

  /// From here on requests are written down.
  func beginLedger() {
    guard isKept, let place else { return }
    do throws(SystemFailure) {
      if ledger == nil {
        DescriptorStore.drop(Self.ledgerName)
        let made = try LedgerMemory()
        try DescriptorStore.keep(made.descriptor, as: Self.ledgerName)
        ledger = made
      }
      ledger?.begin(at: place)
    } catch {
      fail(error)
    }
  }

  /// The clip that the run before held on `selection`, if it belongs here. Whoever takes it tells what became of it by
  /// ``retain(_:_:)``, or nothing if it is held as it is.
  func takeClip(of selection: NamedAtom, intern: (String) -> NamedAtom) -> HeldClip? {
    guard let descriptor = inheritedClips.removeValue(forKey: selection.name) else { return nil }
    ledger?.isRestoring = true
    do throws(StoreError) {
      let (held, pages) = try read(descriptor, selection, intern)
      stored[selection] = pages
      return held
    } catch {
      say("content of \(selection.name) from the run before is dropped: \(error)", .notice)
      DescriptorStore.drop(Self.clipPrefix + selection.name)
      return nil
    }
  }

  /// All that the run before left has been dealt with.
  func endRestoring() {
    dropInherited("its selection isn't guarded")
    ledger?.isRestoring = false
  }

  private func read(
    _ descriptor: OwnedDescriptor, _ selection: NamedAtom, _ intern: (String) -> NamedAtom
  ) throws(StoreError) -> (HeldClip, GuardedPages) {
    guard let byteCount = Posix.sealedByteCount(descriptor, Posix.Seals.size | Posix.Seals.futureWrite),
      let pages = GuardedPages(descriptor: descriptor.number, byteCount: byteCount, isWritable: false)
    else { throw .foreign }
    // Valid for as long as `pages`; its size is sealed.
    let bytes = UnsafeBufferPointer(start: pages.base.assumingMemoryBound(to: UInt8.self), count: byteCount)
    let located = try LocatedClip.decode(bytes.span)
    let clip = located.clip
    guard clip.place == place else { throw .field("place (another display, or another run of its server)") }
    guard clip.selection == selection.name else { throw .field("selection") }
    pages.lock()
    let forms = zip(clip.forms, located.ranges).map { form, range in
      Representation(
        target: intern(form.target), type: intern(form.type), format: form.format, payload: Payload(range, of: pages))
    }
    let held = HeldClip(
      selection: selection, time: clip.time, source: clip.source, kind: clip.isCut ? .cut : .copy,
      copiedAt: clip.copiedAt, listsSaveTargets: clip.listsSaveTargets, representations: forms)
    return (held, pages)
  }

  private func dropInherited(_ reason: String) {
    for name in inheritedClips.keys.sorted() {
      say("content of \(Label.plain(name, to: 64)) from the run before is dropped: \(reason)", .notice)
      DescriptorStore.drop(Self.clipPrefix + name)
    }
    inheritedClips = [:]
  }

  // MARK: At work

  /// What `selection` is held with from now on. What was kept before is dropped at once; the new clip follows by
  /// ``advance()``.
  func retain(_ selection: NamedAtom, _ held: HeldClip?) {
    guard isKept, place != nil else { return }
    moves[selection] = nil
    if stored.removeValue(forKey: selection) != nil { DescriptorStore.drop(Self.clipPrefix + selection.name) }
    queue[selection] = held
  }

  /// Moves some content into memory that can be handed over, and hands over what is complete; `true` while there is more
  /// to do. Called when nothing else waits.
  func advance() -> Bool {
    guard !queue.isEmpty || !moves.isEmpty else { return false }
    do throws(SystemFailure) {
      for (selection, held) in queue { moves[selection] = try begin(held) }
      queue = [:]
      for selection in moves.keys { try step(selection) }
    } catch {
      (queue, moves) = ([:], [:])
      fail(error)
    }
    return !moves.isEmpty
  }

  private func begin(_ held: HeldClip) throws(SystemFailure) -> Move {
    let clip = StoredClip(
      place: place!, selection: held.selection.name, time: held.time, source: held.source, isCut: held.kind == .cut,
      copiedAt: held.copiedAt, listsSaveTargets: held.listsSaveTargets,
      forms: held.representations.map {
        StoredClip.Form(target: $0.target.name, type: $0.type.name, format: $0.format, count: $0.payload.count)
      })
    let (header, ranges, byteCount) = clip.encoded()
    let descriptor = try Posix.memfd(Self.clipPrefix + held.selection.name, byteCount: byteCount)
    // Nobody else has the descriptor before it is sealed, so its size can't change under the mapping.
    guard let pages = GuardedPages(descriptor: descriptor.number, byteCount: byteCount, isWritable: true) else {
      throw SystemFailure(call: "mmap", code: errno)
    }
    try Posix.allocate(descriptor, 0..<header.count)
    header.withUnsafeBytes { pages.base.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    return Move(held: held, ranges: ranges, descriptor: descriptor, pages: pages)
  }

  private func step(_ selection: NamedAtom) throws(SystemFailure) {
    var move = moves[selection]!
    var moved = 0
    while move.form < move.ranges.count, moved < Self.stepBytes {
      let payload = move.held.representations[move.form].payload
      guard move.chunk < payload.chunkCount else {
        (move.form, move.chunk) = (move.form + 1, 0)
        continue
      }
      let start = move.ranges[move.form].lowerBound + move.chunk * Payload.segmentBytes
      let count = payload.byteCount(ofChunk: move.chunk)
      if count > 0 { try Posix.allocate(move.descriptor, start..<start + count) }
      payload.moveChunk(move.chunk, to: move.pages, at: start)
      move.chunk += 1
      moved += count
    }
    guard move.form == move.ranges.count else {
      moves[selection] = move
      return
    }
    moves[selection] = nil
    move.pages.lock()
    try Posix.addSeals(move.descriptor, Posix.Seals.size | Posix.Seals.futureWrite)
    try DescriptorStore.keep(move.descriptor, as: Self.clipPrefix + selection.name)
    stored[selection] = move.pages
  }

  /// The process ends and the next one is to find what is held: the rest of it is moved, nothing more is dropped, and
  /// nothing wiped.
  func leave() {
    while advance() {}
    for pages in stored.values { pages.leave() }
    place = nil
  }

  private func fail(_ error: SystemFailure) {
    if failure != error { say("content doesn't survive a crash: \(error)", .warning) }
    failure = error
  }

  // MARK: Status

  /// Whether another process would find what is held.
  var keepsContent: Bool { isKept && failure == nil }

  /// How it stands, for `status`.
  var report: JSON {
    let reason: String? = isKept ? failure?.description : "no service manager keeps it"
    return .object([
      "state": .string(reason == nil ? "kept" : "none"),
      "reason": reason.map { .string($0) },
      "selections": .strings(stored.keys.map { Label.shortened($0.name) }.sorted()),
      "bytes": .integer(stored.values.reduce(0) { $0 + $1.byteCount }),
      "waitingRequests": .integer(ledger?.count ?? 0),
      "unkeptRequests": .integer(ledger?.unkept ?? 0),
    ])
  }

  /// What memory content takes, for `status`.
  static var memoryReport: JSON {
    let usage = GuardedPages.usage
    return .object(["bytes": .integer(usage.bytes), "unlockedBytes": .integer(usage.unlockedBytes)])
  }
}
