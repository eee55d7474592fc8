"""Prints what a process of the same user reaches of the actions' helper while that holds content: `nothing` is right.

Usage: attack-action-helper.py HELPER [late], as an ordinary user. The helper is stopped as soon as it has begun, and with
`late` once it writes its result: by then a helper whose file can be read has closed itself too.
"""
import ctypes, os, signal, subprocess, sys
helper, late = sys.argv[1], sys.argv[2:] == ['late']
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, call):
  try: call(); return name
  except OSError: return None
def trace(pid):
  if libc.ptrace(16, pid, None, None) != 0: raise OSError(ctypes.get_errno(), 'ptrace')
  os.waitpid(pid, 0x40000000)
  libc.ptrace(17, pid, None, None)
def run():
  content = os.memfd_create('in'); os.write(content, b'secret' * (8_000_000 if late else 1000)); os.lseek(content, 0, 0)
  out = os.memfd_create('out')
  child = subprocess.Popen([helper, '536870912', '20', '67108864', 'built-in', 'plain-text', 'UTF8_STRING'], stdin=content, stdout=out)
  while late and os.fstat(out).st_size == 0 and child.poll() is None: pass
  if child.returncode is not None: return None
  os.kill(child.pid, signal.SIGSTOP)
  try:
    if os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT).si_code != os.CLD_STOPPED: return None
    base = f'/proc/{child.pid}/'
    found = [attempt(f'read {n}', lambda: os.close(os.open(base + n, os.O_RDONLY))) for n in ('fd/0', 'fd/1', 'mem', 'maps')]
    found += [attempt('list fd', lambda: os.listdir(base + 'fd')), attempt('chmod fd/0', lambda: os.chmod(base + 'fd/0', 0o666)), attempt('ptrace', lambda: trace(child.pid))]
    pidfd = os.pidfd_open(child.pid)
    def take():
      if libc.syscall(438, pidfd, 0, 0) < 0: raise OSError(ctypes.get_errno(), 'pidfd_getfd')
    found.append(attempt('pidfd_getfd', take))
    return [f for f in found if f]
  finally:
    child.kill(); child.wait()
for _ in range(200):
  found = run()
  if found is not None: print(','.join(found) or 'nothing'); break
else: print('no run could be stopped')
