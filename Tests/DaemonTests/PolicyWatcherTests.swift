import Foundation
import Policy
import Testing

@testable import XPasteBridge

/// Every way of saving, on real files; the rows are those of the fault collection.
struct PolicyWatcherTests {
  /// A watcher on `paths` that counts, with a loop of its own.
  final class Watch {
    let directory = TemporaryDirectory()
    let loop = try! EventLoop()
    private var watcher: PolicyWatcher!
    private(set) var count = 0

    func begin(_ path: String = "policy.d") {
      watcher = try! PolicyWatcher(paths: [directory.path + "/" + path], loop: loop)
      watcher.onSettled = { [unowned self] in count += 1 }
    }

    /// Whether there is one more load, and no second one soon after.
    func loadsOnce(within seconds: Double = 2) -> Bool {
      let before = count
      guard run(loop, seconds: seconds, until: { count > before }) else { return false }
      run(loop, seconds: 0.25)
      return count == before + 1
    }

    func shell(_ script: String) {
      let child = ChildRun(["-ec", "cd '\(directory.path)'; " + script], program: "/bin/sh")
      precondition(child.wait() == 0, "\(script): \(child.complaint)")
    }
  }

  @Test func savedInPlace() {
    let watch = Watch()
    watch.shell("mkdir policy.d; echo 1 > policy.d/a.yaml")
    watch.begin()
    for round in 0..<2 {
      watch.shell("echo round\(round) > policy.d/a.yaml")
      #expect(watch.loadsOnce(), "round \(round)")
    }
  }

  /// B188
  @Test func savedByRenameAgainAndAgain() {
    let watch = Watch()
    watch.shell("mkdir policy.d; echo 1 > policy.d/a.yaml")
    watch.begin()
    for round in 0..<3 {
      watch.shell("echo round\(round) > policy.d/.a.tmp; mv policy.d/.a.tmp policy.d/a.yaml")
      #expect(watch.loadsOnce(), "round \(round)")
    }
  }

  /// B188 for a file that is named by itself.
  @Test func singleFileSavedByRename() {
    let watch = Watch()
    watch.shell("echo 1 > a.yaml")
    watch.begin("a.yaml")
    for round in 0..<2 {
      watch.shell("echo round\(round) > tmp; mv tmp a.yaml")
      #expect(watch.loadsOnce(), "rename \(round)")
      watch.shell("echo more\(round) >> a.yaml")
      #expect(watch.loadsOnce(), "in place \(round)")
    }
  }

  /// B189
  @Test func linkChainIsSwapped() {
    let watch = Watch()
    watch.shell("mkdir policy.d v1 v2 v3; for v in 1 2 3; do echo $v > v$v/a.json; done")
    watch.shell("ln -s v1 ..data; ln -s ../..data/a.json policy.d/a.json")
    watch.begin()
    for version in 2...3 {
      watch.shell("ln -sfn v\(version) tmp; mv -T tmp ..data")
      #expect(watch.loadsOnce(), "v\(version)")
    }
  }

  /// B191
  @Test func linkIntoAnotherFolder() {
    let watch = Watch()
    watch.shell("mkdir policy.d dotfiles; echo 1 > dotfiles/a.yaml; ln -s ../dotfiles/a.yaml policy.d/a.yaml")
    watch.begin()
    watch.shell("echo 2 > dotfiles/a.yaml")
    #expect(watch.loadsOnce(), "in place")
    watch.shell("echo 3 > dotfiles/tmp; mv dotfiles/tmp dotfiles/a.yaml")
    #expect(watch.loadsOnce(), "by rename")
    watch.shell("echo 4 > dotfiles/a.yaml")
    #expect(watch.loadsOnce(), "in place again")
  }

  @Test func wholeDirectoryIsALink() {
    let watch = Watch()
    watch.shell("mkdir one two; echo 1 > one/a.yaml; echo 2 > two/a.yaml; ln -s one policy.d")
    watch.begin()
    watch.shell("ln -sfn two tmp; mv -T tmp policy.d")
    #expect(watch.loadsOnce())
    watch.shell("echo 3 > two/a.yaml")
    #expect(watch.loadsOnce())
  }

  /// B195
  @Test func emptiedFileWaitsForItsContent() {
    let watch = Watch()
    watch.shell("mkdir policy.d; echo 1 > policy.d/a.yaml")
    watch.begin()
    watch.shell(": > policy.d/a.yaml")
    run(watch.loop, seconds: 0.2)
    watch.shell("echo 2 > policy.d/a.yaml")
    #expect(watch.count == 0)
    #expect(watch.loadsOnce())
    watch.shell("rm policy.d/a.yaml")
    run(watch.loop, seconds: 0.3)
    watch.shell("echo 3 > policy.d/a.yaml")
    #expect(watch.count == 1)
    #expect(watch.loadsOnce())
  }

  @Test func removedFileCountsInTheEnd() {
    let watch = Watch()
    watch.shell("mkdir policy.d; echo 1 > policy.d/a.yaml")
    watch.begin()
    watch.shell("rm -r policy.d")
    #expect(watch.loadsOnce())
    watch.shell("mkdir policy.d; echo 2 > policy.d/a.yaml")
    #expect(watch.loadsOnce())
  }

  @Test func slowWriterIsWaitedFor() {
    let watch = Watch()
    watch.shell("mkdir policy.d; echo 1 > policy.d/a.yaml")
    watch.begin()
    let handle = FileHandle(forWritingAtPath: watch.directory.path + "/policy.d/a.yaml")!
    handle.write(Data("half".utf8))
    run(watch.loop, seconds: 0.3)
    #expect(watch.count == 0)
    handle.write(Data("whole".utf8))
    try! handle.close()
    #expect(watch.loadsOnce())
  }

  /// B199
  @Test func readingAndOtherFilesDontMatter() {
    let watch = Watch()
    watch.shell("mkdir policy.d; echo 1 > policy.d/a.yaml")
    watch.begin()
    watch.shell("for i in $(seq 50); do cat policy.d/a.yaml; done > /dev/null; touch policy.d/b.txt policy.d/.c.yaml x")
    watch.shell("echo 1 > policy.d/a.yaml~; rm policy.d/a.yaml~; ls -l policy.d > /dev/null")
    run(watch.loop, seconds: 1)
    #expect(watch.count == 0)
  }

  /// B200
  @Test func directoryAppearsLater() {
    let watch = Watch()
    watch.begin("not/yet/policy.d")
    watch.shell("mkdir -p not/yet/policy.d; echo 1 > not/yet/policy.d/a.yaml")
    #expect(watch.loadsOnce())
    watch.shell("echo 2 > not/yet/policy.d/b.json")
    #expect(watch.loadsOnce())
  }

  @Test func directoryMovesIntoPlace() {
    let watch = Watch()
    watch.begin()
    watch.shell("mkdir new; echo 1 > new/a.yaml; mv new policy.d")
    #expect(watch.loadsOnce())
  }

  /// B201
  @Test func burstIsOneLoad() {
    let watch = Watch()
    watch.shell("mkdir policy.d; echo 1 > policy.d/a.yaml")
    watch.begin()
    for piece in 0..<10 {
      watch.shell("echo \(piece) >> policy.d/a.yaml")
      run(watch.loop, seconds: 0.03)
    }
    #expect(watch.count == 0)
    #expect(watch.loadsOnce())
  }

  /// B197
  @Test func errorsKeepTheLastGoodPolicy() {
    let source = FakePolicySource(PolicyReading(policy: .allowEverything))
    let policy = PolicyInForce(source: source)
    #expect(policy.standing == .inForce)
    source.answer = PolicyReading(policy: nil, files: ["a"], errors: ["a:1:12: expected `]`"])
    #expect(!policy.load())
    #expect(policy.standing == .lastGood)
    #expect(policy.errors == ["a:1:12: expected `]`"])
    source.answer = PolicyReading(policy: .allowEverything, files: ["a"])
    #expect(policy.load())
    #expect(policy.standing == .inForce)
    #expect(policy.errors == [])
  }

  @Test func errorsAtTheStartLock() {
    let source = FakePolicySource(PolicyReading(policy: .allowEverything))
    source.answer = PolicyReading(policy: nil, errors: ["a:1:1: wrong"])
    let policy = PolicyInForce(source: source)
    #expect(policy.standing == .locked)
    policy.load()
    #expect(policy.standing == .locked)
    source.answer = PolicyReading(policy: .allowEverything)
    policy.load()
    #expect(policy.standing == .inForce)
  }
}
