/**
 * @module Identities of processes on this machine, as the kernel knows them: boot, process namespace, pid and start time, a combination that is never reused.
 * On systems without `/proc` a process has no identity, and it cannot be proved that a process is gone.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'

/** Indexes of fields in `/proc/<pid>/stat` after the command's name, from 0. */
const STATE_FIELD = 0
const THREADS_FIELD = 17
const START_FIELD = 19
const MACHINE_CHARS = 16
const FORM = /^p:([\w-]{1,64}):(\d{1,10}):(\d{1,20})$/

interface ProcessState {
  readonly startedAt: string
  /** Ended, but not yet reaped by its parent. */
  readonly isZombie: boolean
}

/** `p:<machine>:<pid>:<start>` of this process; undefined if the system does not provide it. */
export function ownProcess(): string | undefined {
  const name = machineName()
  const state = name === undefined ? undefined : processState(process.pid)
  return state === undefined ? undefined : `p:${name}:${process.pid}:${state.startedAt}`
}

/** Whether the identity was issued in this boot of this machine and in this process namespace. */
export function isOfThisMachine(identity: string): boolean {
  const [, name] = FORM.exec(identity) ?? []
  return name !== undefined && name === machineName()
}

/** Whether a process is provably gone: its identity is of this boot and process namespace, and the process no longer exists. */
export function isProcessGone(identity: string): boolean {
  if (!isOfThisMachine(identity)) return false
  const [, , pid = '', startedAt] = FORM.exec(identity) ?? []
  // If `/proc` hides entries, a missing one proves nothing: the entry of this process must be visible.
  if (processState(process.pid) === undefined) return false
  const state = processState(Number(pid))
  if (state === undefined) return isUnknownToKernel(Number(pid))
  return state.startedAt !== startedAt || state.isZombie
}

let machine: string | undefined

function machineName(): string | undefined {
  machine ??= readMachineName()
  return machine
}

function readMachineName(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const namespace = readlinkSync('/proc/self/ns/pid')
    return createHash('sha256').update(`${boot} ${namespace}`).digest('base64url').slice(0, MACHINE_CHARS)
  } catch {
    return undefined
  }
}

function processState(pid: number): ProcessState | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command's name may contain anything, including brackets: the fields begin after the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, threads, startedAt] = [fields[STATE_FIELD], fields[THREADS_FIELD], fields[START_FIELD]]
    if (startedAt === undefined) return undefined
    return { startedAt, isZombie: (state === 'Z' || state === 'X') && Number(threads) <= 1 }
  } catch {
    return undefined
  }
}

/** `/proc` may hide processes of other users (`hidepid`); a signal that is not permitted still shows that the process exists. */
function isUnknownToKernel(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}
