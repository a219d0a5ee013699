/** @module Exit codes, and the conversion of an error to the one line that a user reads. */
import { SettingsError } from '../settings/settings-error.ts'
import { oneLine } from './shown.ts'

/** LOG-18. A command that is not a verification fails with 1. */
export const EXIT = { ok: 0, failed: 1, tampered: 1, usage: 2, unproven: 3, network: 4 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An expected failure: one line, an exit code, no stack trace. */
export class CliFailure extends Error {
  readonly code = 'cli-failure'
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = EXIT.failed, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CliFailure'
    this.exitCode = exitCode
  }
}

/** `command` is the command whose help the message refers to; default: the general help. */
export function usageFailure(message: string, command = ''): CliFailure {
  return new CliFailure(`${message} (countersign ${`help ${command}`.trim()} says more)`, EXIT.usage)
}

const OF_SYSTEM: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is in use by another program: stop that program, or choose another with --port',
  EADDRNOTAVAIL: 'this machine does not have the address: choose another with --host',
  EACCES: 'permission denied: choose a place or port that this user may use',
  EROFS: 'the file system is read-only: choose another folder with --data',
  ENOSPC: 'the disk is full: make room and try again',
  EIO: 'the disk reports an error: look at it and at the log of the system, and restore the file from a copy',
  EMFILE: 'too many files are open: raise the limit (ulimit -n) and try again',
  ENFILE: 'too many files are open on this machine: close some and try again',
  ENOENT: 'no such file or folder',
  EISDIR: 'it is a folder, a file is needed',
  ENOTDIR: 'a part of the path is a file, not a folder',
}

/** Commands whose exit code 1 means "tampered", or that two states differ: any other failure of these must not exit with 1. */
export const PROVES: readonly string[] = [
  'verify',
  'replay',
  'proof',
  'checkpoint',
  'consistency',
  'copy',
  'projections',
]

/**
 * Commands that run to their end even if their output is not read: the exit code is the result of most of them, and `mcp` and `hook` have outcomes to record.
 */
export const FINDS: readonly string[] = [...PROVES, 'integrity', 'store', 'mcp', 'hook']

/** A command that reads or writes an existing ledger found none; it founds none. */
export function noLedgerHere(): CliFailure {
  return new CliFailure('there is no ledger in this store yet: name the store with --data or --store', EXIT.usage)
}

/** The exit code for the status of a ledger's refusal: 2 for a wrong question, 3 if nothing was found. */
export function exitCodeOfStatus(status: number): ExitCode {
  if (status === 400 || status === 422) return EXIT.usage
  return status === 404 ? EXIT.unproven : EXIT.failed
}

interface Failure {
  readonly message: string
  readonly exitCode: ExitCode
}

/** The message and exit code of any error that ended a command. */
export function describeFailure(error: unknown, command = ''): Failure {
  const { message, exitCode } = failureOf(error)
  return { message, exitCode: exitCode === EXIT.failed && PROVES.includes(command) ? EXIT.unproven : exitCode }
}

/** Only the message of an unknown error is shown: a stack trace does not help a user. */
function failureOf(error: unknown): Failure {
  if (error instanceof CliFailure) return { message: oneLine(error.message), exitCode: error.exitCode }
  if (error instanceof SettingsError) return { message: oneLine(error.message), exitCode: EXIT.usage }
  if (!(error instanceof Error)) return { message: oneLine(String(error)), exitCode: EXIT.failed }

  const code = 'code' in error ? String(error.code) : ''
  const advice = OF_SYSTEM[code]
  if (advice === undefined) return { message: oneLine(error.message), exitCode: EXIT.failed }
  return { message: oneLine(`${subjectOf(error)}${advice}`), exitCode: EXIT.failed }
}

function subjectOf(error: Error): string {
  if ('path' in error && typeof error.path === 'string') return `${error.path}: `
  if ('address' in error && 'port' in error) return `${String(error.address)}:${String(error.port)}: `
  return ''
}
