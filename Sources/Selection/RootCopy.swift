/// A property of the root window in which programs keep copies, where everybody can read it, also after the program's end.
public enum RootCopy: Hashable, Sendable {
  /// CUT_BUFFER0 to 7 (ICCCM 2.8, Xlib's XStoreBuffer): what is marked.
  case cutBuffer
  /// SDL 2: what is copied or marked.
  case sdl
  /// Motif: what is copied.
  case motif

  /// What of Motif's belongs to its protocol and holds no content: the lock, the counter, the lengths of registered formats
  /// and the types of messages (Motif's CutPasteI.h).
  private static let motifProtocol = ["LOCK", "NEXT_ID", "FORMAT_", "TIME", "MESSAGE"]

  /// The kind that a property of this name is; `nil` for all others. Motif's that aren't known count as content.
  public init?(named name: String) {
    let motif = "_MOTIF_CLIP_"
    if name.hasPrefix("CUT_BUFFER"), name.utf8.count == 11, "01234567".contains(name.suffix(1)) {
      self = .cutBuffer
    } else if name.hasPrefix("SDL_CUTBUFFER") {
      self = .sdl
    } else if name.hasPrefix(motif), !Self.motifProtocol.contains(where: name.dropFirst(motif.count).hasPrefix) {
      self = .motif
    } else {
      return nil
    }
  }
}
