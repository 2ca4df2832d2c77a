"""What a student may try, as expressions that give "ok" when the attempt succeeded and the refusal otherwise.

Each runs in its own child of the kernel, since some are answered with a kill. `{grader}`, `{zygote}`, `{hidden}` and
`{other}` (a neighbour's work folder) are filled in.
"""

from __future__ import annotations

PRELUDE = """
import ctypes, os, signal, socket, resource
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def read(path):
    with open(path, "rb") as file:
        file.read(1)

def write(path):
    with open(path, "wb", buffering=0) as file:
        file.write(b"x")

def execute_own_file():
    path = os.path.expanduser("~/own.sh")
    with open(path, "w") as file:
        file.write("#!/bin/sh\\nexit 0\\n")
    os.chmod(path, 0o700)
    if os.spawnv(os.P_WAIT, path, [path]) != 0:
        raise OSError(13, "not executed")

def through_symlink(path):
    link = os.path.expanduser("~/link")
    os.symlink(path, link)
    read(link)

def su():
    if os.system('su -c true </dev/null >/dev/null 2>&1') != 0:
        raise OSError(1, 'refused')

def int80():
    import mmap
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")  # mov eax, 20 (getpid); int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    if ctypes.CFUNCTYPE(ctypes.c_int)(address)() != os.getpid():
        raise OSError(1, "refused")

def attempt(probe):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            probe()
            said = b"ok"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}".encode()
        os.write(writer, said)
        os._exit(0)
    os.close(writer)
    said = os.read(reader, 4096).decode()
    os.close(reader)
    status = os.waitpid(pid, 0)[1]
    return said or f"killed by signal {os.WTERMSIG(status)}"
"""

#: name → expression that must be refused at level A
REFUSED = {
    "read a readable hidden file": "read('{hidden}/open.txt')",
    "read a hidden file of mode 0600": "read('{hidden}/closed.txt')",
    "list the hidden folder": "os.listdir('{hidden}')",
    "read a hidden file through an own symlink": "through_symlink('{hidden}/open.txt')",
    "hardlink a hidden file": "os.link('{hidden}/open.txt', os.path.expanduser('~/hard'))",
    "write over a hidden file": "write('{hidden}/open.txt')",
    "rename over a hidden file": "(write('n'), os.rename('n', '{hidden}/open.txt'))",
    "the grader's environment": "read('/proc/{grader}/environ')",
    "the grader's memory map": "read('/proc/{grader}/maps')",
    "the grader's memory": "read('/proc/{grader}/mem')",
    "the grader's descriptors": "os.listdir('/proc/{grader}/fd')",
    "the grader's folder": "os.readlink('/proc/{grader}/cwd')",
    "the grader's arguments": "read('/proc/{grader}/cmdline')",
    "the zygote's environment": "read('/proc/{zygote}/environ')",
    "the first process's environment": "read('/proc/1/environ')",
    "list /proc": "os.listdir('/proc')",
    "ptrace the grader": "call(101, 16, {grader}, 0, 0)",
    "read the grader's memory by call": "call(310, {grader}, 0, 0, 0, 0, 0)",
    "signal the grader": "os.kill({grader}, 0)",
    "signal the zygote": "os.kill({zygote}, 0)",
    "signal the neighbour": "os.kill({neighbour}, 0)",
    "limits of the grader": "resource.prlimit({grader}, resource.RLIMIT_CORE)",
    "priority of the grader": "os.setpriority(os.PRIO_PROCESS, {grader}, 5)",
    "processors of the grader": "os.sched_setaffinity({grader}, [0])",
    "a descriptor of the grader": "call(434, {grader}, 0)",
    "a TCP socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "an IPv6 socket": "socket.socket(socket.AF_INET6, socket.SOCK_STREAM)",
    "a UDP socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "a crypto socket": "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
    "a vsock": "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
    "a user namespace": "call(272, 0x10000000)",
    "a network namespace": "call(272, 0x40000000)",
    "mount": "call(165, 0, 0, 0, 0, 0)",
    "keyctl": "call(250, 0, -3, 1)",
    "add_key": "call(248, 0, 0, 0, 0, -3)",
    "bpf": "call(321, 0, 0, 0)",
    "perf_event_open": "call(298, 0, 0, -1, -1, 0)",
    "userfaultfd": "call(323, 1)",
    "io_uring_setup": "call(425, 1, 0)",
    "fanotify_init": "call(300, 0, 0)",
    "inotify_init1": "call(294, 0)",
    "open_by_handle_at": "call(304, -100, 0, 0)",
    "personality": "call(135, 0x0040000)",
    "the kernel's log": "call(103, 10, 0, 0)",
    "more processes": "resource.setrlimit(resource.RLIMIT_NPROC, (100000, 100000))",
    "more open files": "resource.setrlimit(resource.RLIMIT_NOFILE, (100000, 100000))",
    "become root": "os.setuid(0)",
    "su": "su()",
    "make a device": "os.mknod('device', 0o20600, os.makedev(1, 1))",
    "chroot": "os.chroot('.')",
    "SysV shared memory": "call(29, 0, 4096, 0o1600)",
    "a message queue": "call(240, ctypes.c_char_p(b'queue'), 0o102, 0o600, 0)",
    "memory without a file": "call(319, ctypes.c_char_p(b'memory'), 0)",
    "32-bit calls": "int80()",
    "x32 calls": "call(0x40000000 + 39)",
    "write /tmp": "write('/tmp/softmark-probe')",
    "write /var/tmp": "write('/var/tmp/softmark-probe')",
    "read /etc/hostname": "read('/etc/hostname')",
    "read /etc/shadow": "read('/etc/shadow')",
    "read /etc/resolv.conf": "read('/etc/resolv.conf')",
    "start an own file": "execute_own_file()",
    "write into site-packages": "write('{packages}/softmark_probe.py')",
    "list the neighbour's folder": "os.listdir('{other}')",
    "write into the neighbour's folder": "write('{other}/x')",
    "list the folder of folders": "os.listdir(os.path.dirname('{other_root}'))",
    "the grader's abstract socket": "socket.socket(socket.AF_UNIX).connect('\\0{abstract}')",
    "type into a terminal": "__import__('fcntl').ioctl(__import__('pty').openpty()[1], 0x5412, b'x')",
}

#: what honest work needs
ALLOWED = {
    "write into the own folder": "write('own.txt')",
    "write temporary files": "write(os.environ['TMPDIR'] + '/t')",
    "list the own folder": "os.listdir('.')",
    "a pair of sockets": "socket.socketpair()",
    "processors": "read('/proc/cpuinfo')",
    "random bytes": "read('/dev/urandom')",
    "a name for the user": "__import__('getpass').getuser()",
    "a subprocess": "__import__('subprocess').run(['true'], check=True)",
    "a path socket": "socket.socket(socket.AF_UNIX).bind('own.sock')",
}
