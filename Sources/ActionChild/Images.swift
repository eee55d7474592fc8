@preconcurrency import CPixbuf
import ContentActions
@preconcurrency import Glibc

/// Images by gdk-pixbuf, decoded as what their type says and nothing else.
enum Images {
  /// What a size means in memory: the decoded image, and a second one beside it while it is scaled or turned.
  private static let bytesPerPixel = 8
  private static let thumbnailDivisor: Int32 = 3
  /// Good enough that nobody sees a difference. Our choice.
  private static let jpegQuality = "92"

  /// What a callback needs to judge an image's size.
  private final class Bounds {
    let divisor: Int32
    let pixels: Int

    init(divisor: Int32, pixels: Int) { (self.divisor, self.pixels) = (divisor, pixels) }
  }

  /// `image` at a third of its width and height, as PNG.
  static func thumbnail(_ image: UnsafeRawBufferPointer, type: String, memoryBytes: Int) throws(ActionFailure) {
    try write(decode(image, type: type, memoryBytes: memoryBytes, divisor: thumbnailDivisor), as: "png")
  }

  /// `image` again with its pixels alone, in its own format.
  static func withoutMetadata(_ image: UnsafeRawBufferPointer, type: String, memoryBytes: Int) throws(ActionFailure) {
    let isJPEG = ["image/jpeg", "image/jpg"].contains(type)
    guard isJPEG || type == "image/png" else { throw .notApplicable }
    let pixels = try decode(image, type: type, memoryBytes: memoryBytes, divisor: 1)
    try write(pixels, as: isJPEG ? "jpeg" : "png", isJPEG ? ("quality", jpegQuality) : nil)
  }

  /// The pixels, upright: how the camera was held stands in what is left out. Kept until the process ends.
  private static func decode(
    _ image: UnsafeRawBufferPointer, type: String, memoryBytes: Int, divisor: Int32
  ) throws(ActionFailure) -> OpaquePointer {
    guard let loader = gdk_pixbuf_loader_new_with_mime_type(type, nil) else { throw .undecodable }
    let bounds = Bounds(divisor: divisor, pixels: memoryBytes / bytesPerPixel)
    // Called only while `write` and `close` run below, during which `bounds` lives.
    xpb_on_size_prepared(
      loader,
      { loader, width, height, context in
        guard let context else { return }
        let bounds = Unmanaged<Bounds>.fromOpaque(context).takeUnretainedValue()
        // Before a pixel is decoded. Nothing here outlives the process, so it ends where it stands.
        guard width > 0, height > 0, Int(width) * Int(height) <= bounds.pixels else {
          exit(HelperProtocol.status(of: .memoryLimit))
        }
        if bounds.divisor > 1 {
          gdk_pixbuf_loader_set_size(loader, max(1, width / bounds.divisor), max(1, height / bounds.divisor))
        }
      }, Unmanaged.passUnretained(bounds).toOpaque())
    var error: UnsafeMutablePointer<GError>?
    let bytes = image.bindMemory(to: UInt8.self)
    let isRead = withExtendedLifetime(bounds) {
      guard gdk_pixbuf_loader_write(loader, bytes.baseAddress, gsize(bytes.count), &error) != 0 else {
        gdk_pixbuf_loader_close(loader, nil)
        return false
      }
      return gdk_pixbuf_loader_close(loader, &error) != 0
    }
    guard isRead, let decoded = gdk_pixbuf_loader_get_pixbuf(loader) else {
      throw isOutOfMemory(error) ? .memoryLimit : .undecodable
    }
    guard let upright = gdk_pixbuf_apply_embedded_orientation(decoded) else { throw .memoryLimit }
    return upright
  }

  private static func isOutOfMemory(_ error: UnsafeMutablePointer<GError>?) -> Bool {
    guard let error else { return false }
    return error.pointee.domain == gdk_pixbuf_error_quark()
      && error.pointee.code == Int32(GDK_PIXBUF_ERROR_INSUFFICIENT_MEMORY.rawValue)
  }

  /// Writes `pixels` to standard output.
  private static func write(
    _ pixels: OpaquePointer, as format: String, _ option: (name: String, value: String)? = nil
  ) throws(ActionFailure) {
    var names = [option.map { strdup($0.name) } ?? nil, nil]
    var values = [option.map { strdup($0.value) } ?? nil, nil]
    var error: UnsafeMutablePointer<GError>?
    let isWritten = gdk_pixbuf_save_to_callbackv(
      pixels, { bytes, count, _, _ in Output.write(bytes, Int(count)) ? 1 : 0 }, nil, format, &names, &values, &error)
    guard isWritten != 0 else { throw isOutOfMemory(error) ? .memoryLimit : .failed }
  }
}
