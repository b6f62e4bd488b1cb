#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# The first process of the virtual machine of machine.py: makes a soft RoCE device, and runs /runs.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/shm
mount -t tmpfs none /dev/shm
mount -t tmpfs none /tmp
# Ranks map more than there is, and use a little of it.
echo 1 > /proc/sys/vm/overcommit_memory
ulimit -l unlimited

# The kernel loads algorithms by itself.
echo /bin/modprobe > /proc/sys/kernel/modprobe
for module in dummy rdma_rxe ib_uverbs; do
    modprobe $module
done
ip link set lo up
ip addr add fd00:47::1/64 dev dummy0
ip link set dummy0 mtu 9000 up # packets of 4096 bytes
rdma link add rxe0 type rxe netdev dummy0
port=/sys/class/infiniband/rxe0/ports/1
# UCX 1.13 does not see that packets of soft RoCE over IPv4 are for it; over IPv6 it does.
gid=
until [ "$gid" ]; do # the address counts when the kernel has looked for its like
    sleep 0.1
    gid=$(grep -l '^fd00:' $port/gids/[0-9] 2> /dev/null | head -n 1)
done
export UCX_IB_GID_INDEX="${gid##*/}"
echo "soft RoCE: GID $(cat "$gid")"

sent() {
    cat $port/hw_counters/sent_pkts
}
seconds() {
    cut -d. -f1 /proc/uptime
}

# run NAME VARIABLE=VALUE... COMMAND...
run() {
    echo "# begin $1"
    shift
    before=$(sent)
    began=$(seconds)
    env "$@"
    code=$?
    echo "# end $code $(($(sent) - before)) $(($(seconds) - began))"
}

. /runs
poweroff -f
