@preconcurrency import Glibc
import Selection

/// Content that is copied a little at a time, so that nobody's paste waits for it.
protocol ContentJob: AnyObject {
  /// Copies at most `bytes`, and gives how many it did; 0 when nothing is left.
  func copy(upTo bytes: Int) throws(SystemFailure) -> Int
  /// All is copied, or it came to nothing.
  func end(_ failure: SystemFailure?)
}

/// Jobs one after another: only one has memory for its content at a time.
final class ContentQueue {
  /// How much is copied between two looks at the X connection. Our choice: 1 ms.
  static let stepBytes = 2 << 20

  private var jobs: [any ContentJob] = []
  private var stepping: DeferredCall?

  init(loop: EventLoop) throws(SystemFailure) {
    stepping = try loop.makeDeferredCall { [weak self] in self?.step() }
  }

  /// Begins a job, and ends it at once if it is small and none is under way.
  func add(_ job: any ContentJob) {
    jobs.append(job)
    if jobs.count == 1 { step() }
  }

  private func step() {
    guard let job = jobs.first else { return }
    do throws(SystemFailure) {
      var copied = 0
      while copied < Self.stepBytes {
        let more = try job.copy(upTo: Self.stepBytes - copied)
        guard more > 0 else {
          jobs.removeFirst()
          job.end(nil)
          break
        }
        copied += more
      }
    } catch {
      jobs.removeFirst()
      job.end(error)
    }
    if !jobs.isEmpty { stepping?.request() }
  }
}

/// Content on its way to a caller, in a file in memory that is sealed when it is whole.
final class OutgoingContent: ContentJob {
  private let payload: Payload
  private let onEnd: (Result<OwnedDescriptor, SystemFailure>) -> Void
  private let file: OwnedDescriptor
  private var chunk = 0
  private var offset = 0

  init(_ payload: Payload, onEnd: @escaping (Result<OwnedDescriptor, SystemFailure>) -> Void) throws(SystemFailure) {
    (self.payload, self.onEnd) = (payload, onEnd)
    file = try Posix.memfd("board", byteCount: payload.count)
  }

  func copy(upTo bytes: Int) throws(SystemFailure) -> Int {
    guard chunk < payload.chunkCount else { return 0 }
    // Files in memory take all that there is room for, so that fewer bytes mean that there is none.
    let written = payload.withChunk(chunk) { pwrite(file.number, $0.baseAddress, $0.count, offset) }
    guard written == payload.byteCount(ofChunk: chunk) else {
      throw SystemFailure(call: "pwrite", code: written < 0 ? errno : ENOSPC)
    }
    chunk += 1
    offset += written
    return written
  }

  func end(_ failure: SystemFailure?) {
    if let failure { return onEnd(.failure(failure)) }
    do throws(SystemFailure) {
      try Posix.addSeals(file, Posix.Seals.content)
      onEnd(.success(file))
    } catch {
      onEnd(.failure(error))
    }
  }
}

/// Content that a caller hands over, in sealed files in memory.
final class IncomingContent: ContentJob {
  /// One representation: as what, how many bytes, and where they are.
  struct Form {
    let target: Target
    let byteCount: Int
    let descriptor: OwnedDescriptor
  }

  private let forms: [Form]
  private let onEnd: (Result<[Representation], SystemFailure>) -> Void
  private var done: [Representation] = []
  private var payload = Payload()

  init(_ forms: [Form], onEnd: @escaping (Result<[Representation], SystemFailure>) -> Void) {
    (self.forms, self.onEnd) = (forms, onEnd)
  }

  func copy(upTo bytes: Int) throws(SystemFailure) -> Int {
    while done.count < forms.count {
      let form = forms[done.count]
      guard payload.count == form.byteCount else {
        let before = payload.count
        try Posix.read(form.descriptor, into: &payload, upTo: min(form.byteCount, before + bytes))
        return payload.count - before
      }
      done.append(Representation(target: form.target, type: form.target, format: 8, payload: payload))
      payload = Payload()
    }
    return 0
  }

  func end(_ failure: SystemFailure?) { onEnd(failure.map { .failure($0) } ?? .success(done)) }
}
