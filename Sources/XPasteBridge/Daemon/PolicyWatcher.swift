@preconcurrency import CSystemd
@preconcurrency import Glibc
import Selection

/// Notices every way of saving a policy and says once, after things have settled, that it has to be loaded.
///
/// - A change counts 100 ms after the last one (product.md 3).
/// - A file that had content and is now empty or gone gets 500 ms more: programs that truncate and then write, or
///   delete and then create, are in the middle of saving, and an empty policy would be a gap.
/// - A file that was written to and not yet closed gets up to 2 s: its writer isn't done.
/// - If all files are as they were at the last load, nothing is loaded.
final class PolicyWatcher {
  /// product.md 3.
  private static let settleMilliseconds = 100
  /// Our choice: a rewrite with a pause of 200 ms was reported in the field (faults.md B195), twice that and a margin.
  private static let vanishedMilliseconds = 600
  /// Our choice: a bound for writers that never close their file.
  private static let openMilliseconds = 2_000

  /// Our choice: some hundred events each.
  private static let mostReads = 16

  private static let directoryMask =
    IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
  private static let contentMask = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB

  private struct WrittenName: Hashable {
    var watch: Int32
    var name: String
  }

  private let paths: [String]
  private let limit: Int
  /// Called when files have changed and settled.
  var onSettled: () -> Void = {}
  private let inotify: OwnedDescriptor
  private var source: EventSource?
  private var timer: EventTimer?
  private var watches: [Int32: PolicyPathScan.Watch] = [:]
  private var scan: PolicyPathScan
  private var loaded: PolicyPathScan
  private var unclosed: Set<WrittenName> = []
  private var lastChange = MonotonicTime(nanoseconds: 0)
  private var isReloadAsked = false

  /// Watches `paths` and the first `limit` policy files there from now on; the policy has to be loaded after this, so that
  /// no change in between is missed.
  init(paths: [String], atMost limit: Int = .max, loop: EventLoop) throws(SystemFailure) {
    self.paths = paths
    self.limit = limit
    scan = PolicyPathScan(paths, atMost: limit)
    loaded = scan
    inotify = try Posix.inotifyInit()
    timer = try loop.makeTimer { [weak self] in self?.settled() }
    source = try loop.addInput(inotify.number) { [weak self] in self?.readChanges() }
    renewWatches()
    // What changed between the first look and the watches is seen by a second look.
    scan = PolicyPathScan(paths, atMost: limit)
    loaded = scan
  }

  /// Whether there are any policy files.
  var hasFiles: Bool { !scan.files.isEmpty }

  /// Loads the files even if none has changed, once they have settled: a reload that is asked for must not read a file
  /// that is just being written.
  func reloadWhenSettled() {
    isReloadAsked = true
    lastChange = Posix.monotonicNow()
    scan = PolicyPathScan(paths, atMost: limit)
    renewWatches()
    timer?.set(lastChange.advanced(byMilliseconds: Self.settleMilliseconds))
  }

  private func renewWatches() {
    var renewed: [Int32: PolicyPathScan.Watch] = [:]
    for (path, watch) in scan.directories {
      // Directories that are only passed through can be busy ones; in policy directories the writing itself is seen too,
      // so that a file isn't read before its writer closes it.
      let mask = Self.directoryMask | (watch.coversPolicyFiles ? Self.contentMask : 0)
      guard let number = try? Posix.inotifyAddWatch(inotify, path, mask) else { continue }
      renewed[number, default: PolicyPathScan.Watch()].names.formUnion(watch.names)
      if watch.coversPolicyFiles { renewed[number]!.coversPolicyFiles = true }
    }
    for path in scan.contents {
      // A watch on the file itself reports without a name.
      guard let number = try? Posix.inotifyAddWatch(inotify, path, Self.contentMask) else { continue }
      renewed[number, default: PolicyPathScan.Watch()].names.insert("")
    }
    for number in watches.keys where renewed[number] == nil { Posix.inotifyRemoveWatch(inotify, number) }
    watches = renewed
    unclosed = unclosed.filter { renewed[$0.watch]?.covers($0.name) ?? false }
  }

  private func readChanges() {
    var isRelevant = false
    // What is left wakes the loop again: whoever writes all the time must not keep it here.
    for _ in 0..<Self.mostReads {
      guard let bytes = try? Posix.read(inotify.number, limit: 16 << 10), !bytes.isEmpty else { break }
      isRelevant = take(bytes) || isRelevant
    }
    guard isRelevant else { return }
    lastChange = Posix.monotonicNow()
    scan = PolicyPathScan(paths, atMost: limit)
    renewWatches()
    timer?.set(lastChange.advanced(byMilliseconds: Self.settleMilliseconds))
  }

  /// Walks the events of one read; true when one of them concerns a policy file or the way to it.
  private func take(_ bytes: [UInt8]) -> Bool {
    var isRelevant = false
    bytes.withUnsafeBytes { bytes in
      var offset = 0
      let header = MemoryLayout<inotify_event>.size
      while offset + header <= bytes.count {
        // The kernel returns whole events only: a header, and `len` bytes of a NUL-padded name inside the read.
        let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
        let name = bytes[(offset + header)..<(offset + header + Int(event.len))].prefix { $0 != 0 }
        isRelevant = take(event, String(decoding: name, as: UTF8.self)) || isRelevant
        offset += header + Int(event.len)
      }
    }
    return isRelevant
  }

  private func take(_ event: inotify_event, _ name: String) -> Bool {
    let mask = Int32(bitPattern: event.mask)
    if mask & (IN_Q_OVERFLOW | IN_UNMOUNT) != 0 { return true }
    if mask & IN_IGNORED != 0 {
      watches[event.wd] = nil
      return false
    }
    guard let watch = watches[event.wd] else { return false }
    if mask & (IN_DELETE_SELF | IN_MOVE_SELF) != 0 { return true }
    guard watch.covers(name) else { return false }
    let written = WrittenName(watch: event.wd, name: name)
    if mask & IN_MODIFY != 0 {
      unclosed.insert(written)
    } else if mask & IN_ATTRIB == 0 {
      unclosed.remove(written)
    }
    return true
  }

  private func settled() {
    scan = PolicyPathScan(paths, atMost: limit)
    renewWatches()
    guard let patience = patienceMilliseconds else { return load() }
    let deadline = lastChange.advanced(byMilliseconds: patience)
    guard Posix.monotonicNow() < deadline else { return load() }
    timer?.set(deadline)
  }

  /// How long after the last change a half-saved look of the files has to last before it counts; `nil` when nothing
  /// looks half saved.
  private var patienceMilliseconds: Int? {
    if !unclosed.isEmpty { return Self.openMilliseconds }
    let now = Dictionary(scan.files.map { ($0.path, $0.state) }, uniquingKeysWith: { first, _ in first })
    let hasVanished = loaded.files.contains { file in
      guard let before = file.state, before.size > 0 else { return false }
      return (now[file.path] ?? nil).map { $0.size == 0 } ?? true
    }
    return hasVanished ? Self.vanishedMilliseconds : nil
  }

  private func load() {
    unclosed = []
    guard isReloadAsked || scan.files != loaded.files else { return }
    isReloadAsked = false
    loaded = scan
    onSettled()
  }
}
