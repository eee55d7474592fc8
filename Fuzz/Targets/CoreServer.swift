import Glibc
import Policy
import Selection

/// How a pretended owner answers one target.
enum OwnerReply {
  case whole(Int)
  case typed(format: Int, Int)
  case atomList(Int)
  case secretWord
  /// Sizes of chunks; an owner that doesn't end never sends the last, empty one.
  case chunks([Int], ends: Bool)
  /// A chunk, then one of another format.
  case contradicting
  /// A chunk, then a second announcement.
  case announcedTwice
  /// A chunk that somebody deletes before it is read.
  case vanishing
  case nothingStored
  case refuse
  case silent
}

/// One copy on the pretended server: what its owner offers and what the core was given of it.
final class SceneClip {
  let number: Int
  let window: Window
  let program: Program
  let time: ServerTime
  /// What TARGETS is answered with; `nil` lists the replies.
  let listing: OwnerReply?
  let replies: [(target: Target, reply: OwnerReply, isPrompt: Bool)]
  /// Who the core was told it comes from.
  var source = Subject.unknown
  var takenAt = MonotonicTime(nanoseconds: 0)
  /// Representations that the core has read to the end.
  var forms: [Target: [Payload]] = [:]
  /// Who had the one paste of a one-shot clip.
  var usedBy: Subject?

  init(
    number: Int, window: Window, program: Program, time: ServerTime, listing: OwnerReply?,
    replies: [(target: Target, reply: OwnerReply, isPrompt: Bool)]
  ) {
    self.number = number
    self.window = window
    self.program = program
    self.time = time
    self.listing = listing
    self.replies = replies
  }

  /// Who the clips before it came from, as far as their content may have been the same.
  var earlierSources: [Subject] = []

  /// Whether it has content that other clips may have as well.
  var hasSharedWord: Bool { forms.values.contains { $0.contains { $0.starts(with: Array("secret".utf8)) } } }

  /// Whose clip it may be taken for.
  var sources: [Subject] { hasSharedWord ? [source] + earlierSources : [source] }

  /// Whether the core saw it marked as secret.
  var isSensitive: Bool {
    forms.contains { target, payloads in
      TargetList.secretMarkers.listed.contains(target.name)
        || target.name == TargetList.secretMarkers.valued
          && payloads.contains { $0.copiedBytes() == Array("secret".utf8) }
    }
  }

  /// What it may be served as under this target: plain text that is ASCII is the same under each name of plain text.
  func payloads(as target: Target) -> [Payload] {
    if let own = forms[target] { return own }
    guard TargetList.isPlainText(target.name) else { return [] }
    return forms.filter { TargetList.isPlainText($0.key.name) }.flatMap(\.value).filter { $0.isASCII(upTo: 1 << 20) }
  }

  private struct BytesKey: Hashable {
    let clip: Int
    let target: Target
    let count: Int
  }

  /// Made once: most of the time would go into filling memory.
  private static var made: [BytesKey: Payload] = [:]

  /// Bytes that no other clip and no other target has.
  func bytes(_ count: Int, of target: Target) -> Payload {
    let key = BytesKey(clip: number, target: target, count: count)
    if let known = Self.made[key] { return known }
    let payload = makeBytes(count, of: target)
    Self.made[key] = payload
    return payload
  }

  private func makeBytes(_ count: Int, of target: Target) -> Payload {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count)
    for (index, mark) in [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: target.atom.id)].enumerated()
    where index < count { bytes[index] = mark }
    return Payload(bytes)
  }
}

extension Payload {
  /// Whether both hold the same bytes; quicker than comparing them one by one, which the fuzzer watches.
  func hasSameBytes(as other: Payload) -> Bool {
    guard count == other.count, chunkCount == other.chunkCount else { return false }
    return (0..<chunkCount).allSatisfy { chunk in
      withChunk(chunk) { mine in
        other.withChunk(chunk) { theirs in
          mine.count == theirs.count && memcmp(mine.baseAddress!, theirs.baseAddress!, mine.count) == 0
        }
      }
    }
  }
}

/// One conversion that the core asked of an owner, as the owner and the server see it.
final class SceneConversion {
  let target: Target
  /// Who was asked; `nil` when the selection had no owner.
  let clip: SceneClip?
  let reply: OwnerReply
  /// Whether the owner has sent its SelectionNotify.
  var isAnswered = false
  /// Whether nothing can come to its window any more.
  var isAtRest = false
  /// Whether a chunk lies there unread.
  var hasChunk = false
  /// Whether the transfer is incremental and has been announced.
  var isAnnounced = false
  private var sent = 0
  private var received = Payload()

  init(target: Target, clip: SceneClip?, reply: OwnerReply) {
    self.target = target
    self.clip = clip
    self.reply = reply
  }

  /// Whether the owner says that it has stored something.
  var isStored: Bool { if case .refuse = reply { false } else { clip != nil } }

  /// Whether the owner could store one more chunk.
  var canStoreChunk: Bool {
    guard isAnnounced, !hasChunk, !isAtRest else { return false }
    return switch reply {
    case .chunks(let sizes, let ends): sent < sizes.count + (ends ? 1 : 0)
    default: sent < 2
    }
  }

  /// What lies in the property now.
  func read(limit: Int, atoms: SceneAtoms) -> PropertyValue {
    guard let clip, isAnswered else {
      // Somebody else said that there is an answer.
      isAtRest = true
      return .absent
    }
    if isAnnounced { return readChunk(of: clip, limit: limit) }
    switch reply {
    case .atomList(let count) where target == atoms.known.targets:
      isAtRest = true
      return .atoms([atoms.known.targets, atoms.known.timestamp] + clip.replies.prefix(count).map(\.target))
    case .whole(let size): return whole(clip.bytes(size, of: target), format: 8, limit: limit)
    case .typed(let format, let size): return whole(clip.bytes(size, of: target), format: format, limit: limit)
    case .secretWord: return whole(Payload("secret".utf8), format: 8, limit: limit)
    case .atomList(let count):
      let list = (0..<count).map { NamedAtom(Atom(UInt32(clip.number) << 8 | UInt32($0)), "A") }
      let bytes = list.flatMap { atom in withUnsafeBytes(of: atom.atom.id) { Array($0) } }
      clip.forms[target, default: []].append(Payload(bytes))
      isAtRest = true
      return .atoms(list)
    case .chunks, .contradicting, .announcedTwice, .vanishing:
      isAnnounced = true
      return .incremental(hint: 1)
    case .nothingStored, .refuse, .silent:
      isAtRest = true
      return .absent
    }
  }

  private func whole(_ payload: Payload, format: Int, limit: Int) -> PropertyValue {
    guard payload.count <= limit else { return .tooLarge(bytes: payload.count) }
    clip!.forms[target, default: []].append(payload)
    isAtRest = true
    return .value(type: target, format: format, payload: payload)
  }

  private func readChunk(of clip: SceneClip, limit: Int) -> PropertyValue {
    guard hasChunk else { return .absent }
    hasChunk = false
    sent += 1
    switch reply {
    case .chunks(let sizes, _):
      let chunk = sent <= sizes.count ? clip.bytes(sizes[sent - 1], of: target) : Payload()
      guard chunk.count <= limit else { return .tooLarge(bytes: chunk.count) }
      received.append(chunk)
      if chunk.isEmpty {
        clip.forms[target, default: []].append(received)
        isAtRest = true
      }
      return .value(type: target, format: 8, payload: chunk)
    case .announcedTwice where sent == 2: return .incremental(hint: 1)
    case .vanishing where sent == 1: return .absent
    case .contradicting where sent == 2:
      return .value(type: target, format: 32, payload: clip.bytes(4, of: target))
    default: return .value(type: target, format: 8, payload: clip.bytes(5, of: target))
    }
  }
}
