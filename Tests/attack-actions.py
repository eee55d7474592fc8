"""Tries to reach, as another process of the same user, what actions work on: `nothing` is right.

attack-actions.py helper HELPER   the helper alone, stopped as soon as it has begun
attack-actions.py daemon FOLDER   a daemon and its helper out of FOLDER, on a display of their own: each of their runs is stopped
                                  again and again, from its first moment to its last, or left alone and raced
Run it as an ordinary user: nothing is closed to root.
"""
import array, ctypes, itertools, json, os, pathlib, select, shutil, signal, socket, subprocess, sys, tempfile, time

libc = ctypes.CDLL(None, use_errno=True)
SECRET = 'wonderful-secret-'


def call(*words):
    if (found := libc.syscall(*words)) < 0:
        raise OSError(ctypes.get_errno(), 'syscall')
    return found


def perf(pid):
    # A clock of the software's, of user space alone; samples of such a one have registers and stack in them.
    attributes = array.array('Q', [1 | 120 << 32] + [0] * 14)
    attributes[5] = 1 << 5 | 1 << 6
    os.close(call(298, ctypes.c_void_p(attributes.buffer_info()[0]), pid, -1, -1, 0))


def vm_read(pid):
    # An address that isn't there: what may be read answers with EFAULT.
    vector = array.array('Q', [0, 1])
    place = ctypes.c_void_p(vector.buffer_info()[0])
    try:
        call(310, pid, place, 1, place, 1, 0)
    except OSError as error:
        if error.errno != 14:
            raise


def seize(pid):
    if libc.ptrace(0x4206, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), 'ptrace')
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, 0x40000000)
    libc.ptrace(17, pid, None, None)


def take(pid, number):
    pidfd = os.pidfd_open(pid)
    try:
        os.close(call(438, pidfd, number, 0))
    finally:
        os.close(pidfd)


def attempts(pid):
    """What can be reached of `pid`."""
    base = f'/proc/{pid}/'

    def opened(name, flags):
        os.close(os.open(base + name, flags | os.O_NONBLOCK))

    def read(name):
        # Of a process that has just ended these can be opened, and are empty.
        if not pathlib.Path(base + name).read_bytes():
            raise OSError
    ways = {f'open {n}': lambda n=n: opened(n, os.O_RDONLY) for n in ('fd/0', 'fd/1', 'mem')}
    ways |= {f'read {n}': lambda n=n: read(n) for n in ('maps', 'environ')}
    ways |= {f'write {n}': lambda n=n: opened(n, os.O_RDWR) for n in ('fd/0', 'fd/1', 'mem')}
    ways |= {f'take {n}': lambda n=n: take(pid, n) for n in (0, 1, 3)}
    ways |= {'see fd/0': lambda: os.readlink(base + 'fd/0'), 'list fd': lambda: os.listdir(base + 'fd'),
             'chmod fd/0': lambda: os.chmod(base + 'fd/0', 0o666), 'vm_read': lambda: vm_read(pid), 'perf': lambda: perf(pid),
             'trace': lambda: seize(pid)}
    if os.uname().machine != 'x86_64':  # their numbers are others elsewhere
        del ways['vm_read'], ways['perf']
    found = set()
    for name, way in ways.items():
        try:
            way()
            found.add(name)
        except OSError:
            pass
    return found


def stopped(pid):
    """Stops a child of ours; false if it has ended before."""
    os.kill(pid, signal.SIGSTOP)
    return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT).si_code == os.CLD_STOPPED


def attack_helper(helper):
    for _ in range(200):
        ours, theirs = socket.socketpair()
        child = subprocess.Popen([helper, '536870912', '20', 'built-in', 'plain-text', 'UTF8_STRING'], stdin=theirs, stdout=theirs)
        try:
            if stopped(child.pid):
                return attempts(child.pid)
        finally:
            child.kill()
            child.wait()
    sys.exit('no run could be stopped')


def watch(daemon):
    """Attacks each child of `daemon` for as long as it is there, until standard input ends. Each is stopped as soon as it
    is seen and let go on for a moment after each attack; every second one is left running."""
    path = pathlib.Path(f'/proc/{daemon}/task/{daemon}/children')
    reached, tries, children = set(), 0, []
    while not select.select([0], [], [], 0)[0]:
        for pid in map(int, path.read_text().split()):
            if pid not in children:
                children.append(pid)
            stops = children.index(pid) % 2 == 0
            try:
                if stops:
                    os.kill(pid, signal.SIGSTOP)
                reached |= attempts(pid)
                tries += 1
                if int(pathlib.Path(f'/proc/{pid}/coredump_filter').read_text() or '0', 16):
                    reached.add('core')
                if stops:
                    os.kill(pid, signal.SIGCONT)
                    time.sleep(0.01)
            except OSError:
                pass
    print(len(children), tries, *sorted(reached), sep=',')


ACTIONS = {
    'tr': ['/usr/bin/tr', 'a-z', 'A-Z'],
    'slow': ['/usr/bin/python3', '-I', '-S', '-c',
             'import sys, time; text = sys.stdin.read(); time.sleep(0.3); print(text.upper(), end="")'],
}
SCRIPTS = {'script': '#!/usr/bin/env python3\nimport sys\nprint(sys.stdin.read().upper(), end="")\n'}


def attack_daemon(folder):
    own = pathlib.Path(tempfile.mkdtemp(dir='/tmp', prefix='xpb-'))
    started = []

    def start(*words, **more):
        started.append(subprocess.Popen(words, **more))
        return started[-1]
    try:
        reading, writing = os.pipe()
        start('Xvfb', '-displayfd', str(writing), '-nolisten', 'tcp', '-screen', '0', '640x480x24', pass_fds=[writing],
              stderr=subprocess.DEVNULL)
        display = ':' + os.read(reading, 16).decode().strip()
        for name in ('state', 'run'):
            (own / name).mkdir(mode=0o700)
        environment = {'PATH': os.environ['PATH'], 'DISPLAY': display, 'HOME': str(own), 'XDG_RUNTIME_DIR': str(own / 'run'),
                       'XDG_STATE_HOME': str(own / 'state'), 'XDG_CONFIG_HOME': str(own)}
        for name, text in SCRIPTS.items():
            (own / name).write_text(text)
            (own / name).chmod(0o755)
            ACTIONS[name] = [str(own / name)]
        (own / 'actions').mkdir()
        for name, words in ACTIONS.items():
            (own / 'actions' / f'{name}.yaml').write_text(
                f'version: 1\ntitle: {name}\naccepts: text\nmakes: same\ncommand: {json.dumps(words)}\n')
        (own / 'actions' / 'plain.yaml').write_text('version: 1\ntitle: plain\naccepts: text\nmakes: same\nbuilt-in: plain-text\n')
        (own / 'policy.yaml').write_text('version: 1\ndefault: allow\n')
        program = f'{folder}/xpastebridge'
        daemon = start(program, 'run', '--policy', str(own / 'policy.yaml'), '--actions', str(own / 'actions'), '--no-bus',
                       env=environment, stderr=subprocess.DEVNULL)

        def command(*words):
            return subprocess.run([program, *words], env=environment, capture_output=True, text=True)
        deadline = time.monotonic() + 30
        while command('sync').returncode and time.monotonic() < deadline:
            pass
        control = start('sleep', '100', stdin=subprocess.PIPE)
        stopped(control.pid)
        if not {'open fd/0', 'open mem', 'take 0', 'trace'} <= attempts(control.pid):
            sys.exit('the attack reaches nothing of an open process either')
        watcher = start(sys.executable, __file__, 'watch', str(daemon.pid), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        wrong = []
        for name, count in itertools.product(['plain', *ACTIONS], (1, 1, 40_000, 40_000)):
            text = SECRET * count
            copier = start('xclip', '-selection', 'clipboard', '-quiet', env=environment, stdin=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
            copier.stdin.write(text.encode())
            copier.stdin.close()
            deadline = time.monotonic() + 10
            while command('board', 'read', 'general').stdout != text and time.monotonic() < deadline:
                pass
            answer = command('action', 'run', name)
            if answer.returncode:
                wrong.append(f'{name}: {answer.stdout}{answer.stderr}'.strip())
            elif command('board', 'read', 'general').stdout != (text if name == 'plain' else text.upper()):
                wrong.append(f'{name}: another result')
        children, tries, *reached = watcher.communicate(timeout=10)[0].strip().split(',')
        print(f'{children} runs, {tries} attempts', *wrong, sep='\n', file=sys.stderr)
        if wrong or int(children) < 8:
            sys.exit('the actions failed, or were not attacked')
        return set(filter(None, reached))
    finally:
        for child in reversed(started):
            child.kill()
            child.wait()
        shutil.rmtree(own)


if sys.argv[1] == 'watch':
    watch(int(sys.argv[2]))
else:
    reached = {'helper': attack_helper, 'daemon': attack_daemon}[sys.argv[1]](sys.argv[2])
    print(', '.join(sorted(reached)) or 'nothing')
