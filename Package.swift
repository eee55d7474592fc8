// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]
let pure: [SwiftSetting] = strict + [.strictMemorySafety()]
let shell: [SwiftSetting] = strict + [.defaultIsolation(MainActor.self)]

let package = Package(
  name: "XPasteBridge",
  products: [
    .executable(name: "xpastebridge", targets: ["XPasteBridge"]),
    .executable(name: "xpastebridge-action", targets: ["ActionChild"]),
  ],
  targets: [
    .systemLibrary(
      name: "CX11", pkgConfig: "x11 xfixes xres xext x11-xcb xcb xcb-res",
      providers: [
        .apt([
          "libx11-dev", "libxfixes-dev", "libxres-dev", "libxext-dev", "libx11-xcb-dev", "libxcb-res0-dev",
        ])
      ]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CYaml", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(
      name: "CPixbuf", pkgConfig: "gdk-pixbuf-2.0", providers: [.apt(["libgdk-pixbuf-2.0-dev"])]),
    .systemLibrary(name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),

    .target(name: "Policy", swiftSettings: pure),
    .target(name: "GuardedMemory", swiftSettings: strict),
    .target(name: "Selection", dependencies: ["GuardedMemory"], swiftSettings: pure),
    .target(name: "ClipStore", dependencies: ["Policy", "Selection"], swiftSettings: pure),
    .target(name: "ContentActions", dependencies: ["Policy"], swiftSettings: pure),
    .target(name: "Boards", dependencies: ["Policy", "Selection"], swiftSettings: pure),
    .target(
      name: "BridgeCore", dependencies: ["Boards", "ContentActions", "Policy", "Selection"], swiftSettings: pure),
    .target(name: "Actions", dependencies: ["Policy", "Selection"], swiftSettings: pure),
    .target(name: "Tray", dependencies: ["Selection"], swiftSettings: pure),
    .target(name: "PolicyFile", dependencies: ["ContentActions", "CYaml", "Policy"], swiftSettings: strict),
    .target(
      name: "BoardStore", dependencies: ["CSQLite", "CSodium", "CSystemd", "GuardedMemory"], swiftSettings: strict),
    .target(name: "X11", dependencies: ["Actions", "CX11", "GuardedMemory", "Selection"], swiftSettings: shell),
    .executableTarget(
      name: "XPasteBridge",
      dependencies: [
        "Actions", "Boards", "BoardStore", "BridgeCore", "ClipStore", "ContentActions", "GuardedMemory", "Policy",
        "PolicyFile",
        "Selection", "Tray", "X11",
        "CX11",
        "CSystemd",
      ],
      swiftSettings: shell,
      linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]),
    .executableTarget(
      name: "ActionChild", dependencies: ["ContentActions", "CPixbuf", "CSeccomp"], swiftSettings: strict,
      linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]),

    .executableTarget(
      name: "PolicyBench", dependencies: ["Policy", "PolicyFile"], path: "Benchmarks/PolicyBench", swiftSettings: strict
    ),
    .executableTarget(
      name: "StoreBench", dependencies: ["BoardStore", "CSQLite"], path: "Benchmarks/StoreBench", swiftSettings: strict),
    // A program that keeps clips and may be killed at any moment, and the one that kills it.
    .executableTarget(
      name: "StoreTrial", dependencies: ["BoardStore"], path: "Tests/StoreTrial", swiftSettings: strict),

    .testTarget(name: "ContentActionsTests", dependencies: ["ContentActions"], swiftSettings: strict),
    .testTarget(name: "PolicyTests", dependencies: ["Policy"], swiftSettings: strict),
    .testTarget(
      name: "PolicyFileTests", dependencies: ["ContentActions", "PolicyFile", "Policy"], exclude: ["Golden", "Schema"],
      swiftSettings: strict),
    .testTarget(name: "SelectionTests", dependencies: ["GuardedMemory", "Selection"], swiftSettings: strict),
    .testTarget(name: "ClipStoreTests", dependencies: ["ClipStore", "Policy", "Selection"], swiftSettings: strict),
    .testTarget(
      name: "BoardStoreTests", dependencies: ["BoardStore", "CSQLite", "GuardedMemory", "StoreTrial"],
      swiftSettings: strict),
    .testTarget(
      name: "BridgeCoreTests",
      dependencies: ["Boards", "BridgeCore", "ContentActions", "Policy", "PolicyFile", "Selection"],
      swiftSettings: strict),
    .testTarget(name: "BoardsTests", dependencies: ["Boards", "Policy", "Selection"], swiftSettings: strict),
    .testTarget(name: "ActionsTests", dependencies: ["Actions", "Policy", "Selection"], swiftSettings: strict),
    .testTarget(name: "TrayTests", dependencies: ["Selection", "Tray"], swiftSettings: strict),
    .testTarget(
      name: "X11Tests", dependencies: ["Actions", "Boards", "BridgeCore", "X11", "Selection", "XPasteBridge"],
      swiftSettings: shell),
    .testTarget(
      name: "DaemonTests",
      dependencies: [
        "ActionChild", "XPasteBridge", "Boards", "BridgeCore", "ClipStore", "ContentActions", "Policy", "PolicyFile",
        "Selection", "Tray", "X11",
      ],
      swiftSettings: shell),
    .testTarget(name: "IntegrationTests", swiftSettings: strict),
  ]
)

// Fuzz/run builds the fuzz targets into one program with libFuzzer's driver, for which the executable's code has to be a
// library, without its main function. In every other build they are tests, which replay what was found.
let fuzzed: [Target.Dependency] = [
  "Boards", "BoardStore", "BridgeCore", "ClipStore", "ContentActions", "CSystemd", "CX11", "Policy", "PolicyFile",
  "Selection", "Tray", "X11",
  "XPasteBridge",
]
if Context.environment["XPB_FUZZ"] != nil {
  let program = package.targets.first { $0.name == "XPasteBridge" }!
  package.products = []
  package.targets.removeAll { $0.isTest || $0.type == .executable }
  package.targets += [
    .target(
      name: program.name, dependencies: program.dependencies, exclude: ["Main.swift"], swiftSettings: shell),
    .target(name: "FuzzTargets", dependencies: fuzzed, path: "Fuzz/Targets", swiftSettings: shell),
    .executableTarget(name: "Fuzzer", dependencies: ["FuzzTargets"], path: "Fuzz/Driver", swiftSettings: shell),
  ]
} else {
  package.targets.append(
    .testTarget(
      name: "FuzzTests", dependencies: fuzzed, path: "Fuzz", exclude: ["Driver", "corpus", "findings", "run"],
      sources: ["Targets", "Tests"], swiftSettings: shell))
}
