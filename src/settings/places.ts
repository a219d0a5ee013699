/** @module Where a store and its keys are, as named in the settings. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { SettingsError } from './settings-error.ts'

/** A store on a server, which several processes may share. The connection string contains credentials: it must not be logged. */
export interface ServerPlace {
  readonly kind: 'eventstoredb' | 'postgres'
  readonly url: string
}

/** Where the store is. */
export type StorePlace = { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'memory' } | ServerPlace

/** A key file; `command` is the program, with its arguments, that keeps the key under which it is encrypted. */
export interface KeyFilePlace {
  readonly kind: 'file'
  readonly path: string
  readonly command?: readonly string[]
}

/** Where the keys are: a file, or the text itself. */
export type KeyPlace = KeyFilePlace | { readonly kind: 'text'; readonly text: string }

export const STORE_FILE = 'store.db'

export const KEY_FILE = 'keys.json'

export const VIEWS_FILE = 'views.db'

export const LOG_FILE = 'log.db'

export const AUDIT_FILE = 'audit.db'

/** Keys of subjects whose values are kept encrypted. */
export const SUBJECTS_FILE = 'subjects.db'

/** Progress of the webhook deliveries. */
export const WEBHOOK_FILE = 'webhook.json'

/** Appended to the name of the store's file, for its last checkpoints. */
export const CHECKPOINTS_SUFFIX = '.checkpoints'

/** Appended to the name of the store's file, for the note of an event that the store has lost. */
export const LOSS_SUFFIX = '.lost'

/** Appended to the name of the store's file, for the list of erasures. */
export const ERASURES_SUFFIX = '.erasures'

/** Begins `--keys` where the key file is encrypted. */
const EXEC = 'exec:'

const EVENTSTORE_URL = /^(esdb|kurrentdb)(\+discover)?:\/\//

const POSTGRES_URL = /^postgres(ql)?:\/\//

export function isOnServer(place: StorePlace): place is ServerPlace {
  return place.kind === 'eventstoredb' || place.kind === 'postgres'
}

/** A folder means the store in it, so that a data folder can be named as a store. */
export function storePlace(input: string | undefined, data: string): StorePlace {
  if (input === undefined) return { kind: 'sqlite', path: join(data, STORE_FILE) }
  if (input === 'memory:') return { kind: 'memory' }
  if (EVENTSTORE_URL.test(input)) return { kind: 'eventstoredb', url: input }
  if (POSTGRES_URL.test(input)) return { kind: 'postgres', url: input }
  const path = input.startsWith('sqlite:') ? input.slice('sqlite:'.length) : input
  if (path === '' || /^[a-z][a-z0-9+]+:/i.test(path)) {
    const scheme = path.slice(0, path.indexOf(':') + 1)
    throw new SettingsError(
      `--store: ${scheme} is no store this build can open: give a path, sqlite:<path>, memory:, postgres://host/database or esdb://host:2113`,
    )
  }
  return { kind: 'sqlite', path: isFolder(path) ? join(path, STORE_FILE) : path }
}

/** The default key file is the one next to the store, if it exists, otherwise the one in the data folder. */
export function keyPlace(text: string | undefined, store: StorePlace, data: string): KeyPlace {
  if (text?.trimStart().startsWith('{')) return { kind: 'text', text: text }
  if (text !== undefined && !text.startsWith(EXEC)) return { kind: 'file', path: text }
  const beside = store.kind === 'sqlite' ? join(dirname(store.path), KEY_FILE) : undefined
  const path = beside !== undefined && existsSync(beside) ? beside : join(data, KEY_FILE)
  return { kind: 'file', path, ...(text !== undefined && { command: commandOf(text.slice(EXEC.length)) }) }
}

/** The words of the command: it runs without a shell, so that nothing in it is expanded. */
function commandOf(text: string): readonly string[] {
  const words = text.split(/\s+/).filter((word) => word !== '')
  if (words.length > 0) return words
  throw new SettingsError(`--keys: ${EXEC} is followed by a program: --keys ${EXEC}/usr/local/bin/ledger-key`)
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

const DATA_FILES = [STORE_FILE, KEY_FILE, VIEWS_FILE, LOG_FILE, AUDIT_FILE, SUBJECTS_FILE, WEBHOOK_FILE]
const SUFFIXES = ['', '-wal', '-shm', CHECKPOINTS_SUFFIX, LOSS_SUFFIX, ERASURES_SUFFIX]

/** Whether a path is that of a file which a ledger keeps in its data folder or beside its store, whether it is there yet or not. */
export function isLedgerFile(
  path: string,
  { data, store }: { readonly data: string; readonly store: StorePlace },
): boolean {
  const own = [...DATA_FILES.map((name) => join(data, name)), ...(store.kind === 'sqlite' ? [store.path] : [])]
  return own.some((file) => SUFFIXES.some((suffix) => resolve(path) === resolve(`${file}${suffix}`)))
}
