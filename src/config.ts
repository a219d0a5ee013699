/** @module Settings: flags, then COUNTERSIGN_* of the environment, then defaults. One checked object; nothing else reads the environment. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { KNOWN_KEYS_ABOUT, KNOWN_KEYS_DEFAULT, ownKnownKeys } from './known-keys-path.ts'

/** A setting that cannot be used: `message` names where it came from and what it takes. */
export class SettingsError extends Error {
  readonly code = 'settings-invalid'

  constructor(message: string) {
    super(message)
    this.name = 'SettingsError'
  }
}

const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const
const PORT_MAX = 65_535
const CHECKPOINT_MAX_SECONDS = 86_400
const MS_PER_SECOND = 1_000
const MIB = 1024 * 1024
/** Below this a single large batch would be most of the budget. */
export const MEMORY_MIN_BYTES = 128 * MIB
const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, MB: 1e6, GB: 1e9, MiB: MIB, GiB: 1024 * MIB }
const Size = z
  .string()
  .regex(/^\d{1,15} ?(MB|GB|MiB|GiB)?$/, 'takes a size such as 512MiB or 2GiB')
  .transform((text) => Number.parseInt(text, 10) * (SIZE_UNITS[text.replace(/^\d+ ?/, '')] ?? 1))
  .refine((bytes) => bytes >= MEMORY_MIN_BYTES, `takes at least ${MEMORY_MIN_BYTES / MIB}MiB`)
const Path = z.string().min(1, 'a path cannot be empty')
const Switch = z
  .enum(['true', 'false', '1', '0'], 'takes true or false')
  .transform((text) => text === 'true' || text === '1')

export interface Setting {
  /** What the value means; one line of the documentation. */
  readonly about: string
  /** As a person would write it; undefined: unset. */
  readonly fallback?: string
  readonly schema: z.ZodType<unknown, string>
  /** The `fallback` of the documentation, where it follows from other settings. */
  readonly shownDefault?: string
}

function wholeNumber(min: number, max: number): z.ZodType<number, string> {
  const message = `takes a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
}

/** Every setting, by its flag's name; `COUNTERSIGN_` and the name in capitals is its variable. */
export const SETTINGS = {
  data: { about: 'folder of store, views and keys', fallback: '.countersign', schema: Path },
  store: {
    about:
      'the store: a path, `sqlite:<path>`, `memory:`, `postgres://...`, or `esdb://...` for EventStoreDB and KurrentDB',
    schema: Path,
    shownDefault: '`store.db` in the data folder',
  },
  keys: {
    about: 'the key file; the variable may also hold its JSON text',
    schema: Path,
    shownDefault: '`keys.json` in the data folder',
  },
  'known-keys': { about: KNOWN_KEYS_ABOUT, schema: Path, shownDefault: KNOWN_KEYS_DEFAULT },
  host: { about: 'address to listen on', fallback: '127.0.0.1', schema: z.string().min(1, 'takes an address') },
  port: { about: 'port to listen on; 0 takes a free one', fallback: '7070', schema: wholeNumber(0, PORT_MAX) },
  'log-level': {
    about: `${LOG_LEVELS.join(', ')}`,
    fallback: 'info',
    schema: z.enum(LOG_LEVELS, `takes ${LOG_LEVELS.join(', ')}`),
  },
  issuer: { about: '`iss` of the tokens made here', fallback: 'countersign', schema: z.string().min(1).max(256) },
  audience: { about: '`aud` that every token must name', fallback: 'countersign', schema: z.string().min(1).max(256) },
  'trusted-issuers': {
    about:
      'file of other issuers whose tokens are taken: `[{issuer, jwks, algorithms}]`; an edit counts within a second',
    schema: Path,
    shownDefault: 'none',
  },
  origin: {
    about: "prefix of the logs' names, for life: a host name you own; used at the first start only",
    schema: z.string().regex(/^[a-z0-9][a-z0-9./-]{0,200}$/, 'takes lower-case letters, digits, ".", "/" and "-"'),
    shownDefault: 'made from the ledger id',
  },
  'rate-per-second': {
    about: 'requests a second that one tenant may make; 0 turns the limit off',
    fallback: '20000',
    schema: wholeNumber(0, 1_000_000),
  },
  'rate-burst': {
    about: 'requests that may come at once on top of the rate',
    fallback: '40000',
    schema: wholeNumber(1, 10_000_000),
  },
  'work-ms-per-second': {
    about:
      "milliseconds of the server's thread a second that one tenant may use for reading, and as many for large writes; one caller three quarters of them; 0 turns the limit off",
    fallback: '800',
    schema: wholeNumber(0, 1_000_000),
  },
  'max-connections': {
    about: 'connections at once; those without a token make room for others, and one address has half of them at most',
    fallback: '10000',
    schema: wholeNumber(16, 1_000_000),
  },
  'checkpoint-seconds': {
    about: 'longest time from an event to the signed checkpoint of its log, within seconds in a lull; 0 signs none',
    fallback: '300',
    schema: wholeNumber(0, CHECKPOINT_MAX_SECONDS),
  },
  witnesses: {
    about: 'file of the witnesses that cosign each checkpoint: `[{url, key}]`',
    schema: Path,
    shownDefault: 'none',
  },
  memory: {
    about: 'memory for caches, queues, open streams and requests in flight; what finds it full gets 503',
    schema: Size,
    shownDefault: "half of the container's or the machine's, at most 3/4 of node's heap limit",
  },
  'open-metrics': { about: 'serve `/metrics` without a token', fallback: 'false', schema: Switch },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS
/** Values as flags gave them; absent: not given. */
export type Flags = { readonly [name in SettingName]?: string | undefined }
export type Environment = { readonly [name: string]: string | undefined }

/** A store on a server, which several processes may share. The connection string has credentials and all: it is not for logs. */
export interface ServerPlace {
  readonly kind: 'eventstoredb' | 'postgres'
  readonly url: string
}

/** Where the store is. */
export type StorePlace = { readonly kind: 'sqlite'; readonly path: string } | { readonly kind: 'memory' } | ServerPlace
/** Where the keys are: a file, or the text itself. */
export type KeyPlace =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'text'; readonly text: string }

export interface Settings {
  readonly data: string
  readonly store: StorePlace
  readonly keys: KeyPlace
  /** Whether `keys` itself was named, or the data folder; else the file is what the working directory happens to hold. */
  readonly keysFrom: 'named' | 'named-folder' | 'working-directory'
  readonly knownKeys?: string
  readonly host: string
  readonly port: number
  readonly logLevel: (typeof LOG_LEVELS)[number]
  readonly issuer: string
  readonly audience: string
  readonly trustedIssuers?: string
  readonly origin?: string
  readonly ratePerSecond: number
  readonly rateBurst: number
  readonly workMsPerSecond: number
  readonly maxConnections: number
  readonly checkpointDelayMs: number
  readonly witnesses?: string
  readonly openMetrics: boolean
  /** Absent: what the machine or the container allows. */
  readonly memoryBytes?: number
  /** Not a setting of its own: of a ledger inside an agent's process, whose index is not made before somebody asks. */
  readonly auditIfAsked?: boolean
  /** Nor this: said once, at one start, by whoever knows that the log of the store is damaged. */
  readonly acceptWalLoss?: boolean
}

export const STORE_FILE = 'store.db'
export const KEY_FILE = 'keys.json'
export const VIEWS_FILE = 'views.db'
export const LOG_FILE = 'log.db'
export const AUDIT_FILE = 'audit.db'
/** Put behind the name of the store's file. */
export const CHECKPOINTS_SUFFIX = '.checkpoints'

/** Settings from flags, environment and defaults. Throws `SettingsError`, naming the flag or variable at fault. */
export function readSettings(flags: Flags, env: Environment): Settings {
  const inputs = new Inputs(flags, env)
  const data = inputs.text('data')
  const store = storePlace(inputs.optional('store'), data)
  const trustedIssuers = inputs.optional('trusted-issuers')
  const origin = inputs.optional('origin')
  const witnesses = inputs.optional('witnesses')
  const memoryBytes = inputs.checked('memory') as number | undefined
  const knownKeys = inputs.optional('known-keys') ?? ownKnownKeys(env.XDG_CONFIG_HOME)
  return {
    data,
    store,
    keys: keyPlace(inputs.optional('keys'), store, data),
    keysFrom: inputs.isNamed('keys') ? 'named' : inputs.isNamed('data') ? 'named-folder' : 'working-directory',
    ...(knownKeys !== undefined && { knownKeys }),
    host: inputs.text('host'),
    port: inputs.number('port'),
    logLevel: inputs.checked('log-level') as Settings['logLevel'],
    issuer: inputs.text('issuer'),
    audience: inputs.text('audience'),
    ...(trustedIssuers !== undefined && { trustedIssuers }),
    ...(origin !== undefined && { origin }),
    ratePerSecond: inputs.number('rate-per-second'),
    rateBurst: inputs.number('rate-burst'),
    workMsPerSecond: inputs.number('work-ms-per-second'),
    maxConnections: inputs.number('max-connections'),
    checkpointDelayMs: inputs.number('checkpoint-seconds') * MS_PER_SECOND,
    ...(witnesses !== undefined && { witnesses }),
    ...(memoryBytes !== undefined && { memoryBytes }),
    openMetrics: inputs.checked('open-metrics') === true,
  }
}

/** `COUNTERSIGN_LOG_LEVEL` for `log-level`. */
export function variableOf(name: string): string {
  return `COUNTERSIGN_${name.toUpperCase().replaceAll('-', '_')}`
}

class Inputs {
  readonly #flags: Flags
  readonly #env: Environment

  constructor(flags: Flags, env: Environment) {
    this.#flags = flags
    this.#env = env
  }

  isNamed(name: SettingName): boolean {
    return (this.#flags[name] ?? this.#variable(name)) !== undefined
  }

  /** An empty variable is one that somebody unset in a file of variables. */
  #variable(name: SettingName): string | undefined {
    const value = this.#env[variableOf(name)]
    return value === '' ? undefined : value
  }

  checked(name: SettingName): unknown {
    const setting: Setting = SETTINGS[name]
    const value = this.#flags[name] ?? this.#variable(name) ?? setting.fallback
    if (value === undefined) return undefined

    const result = setting.schema.safeParse(value)
    if (result.success) return result.data
    const source = this.#flags[name] === undefined ? variableOf(name) : `--${name}`
    throw new SettingsError(`${source}: ${result.error.issues[0]?.message ?? 'cannot be used'}`)
  }

  optional(name: SettingName): string | undefined {
    const value = this.checked(name)
    return value === undefined ? undefined : String(value)
  }

  text(name: SettingName): string {
    return String(this.checked(name))
  }

  number(name: SettingName): number {
    return Number(this.checked(name))
  }
}

const EVENTSTORE_URL = /^(esdb|kurrentdb)(\+discover)?:\/\//
const POSTGRES_URL = /^postgres(ql)?:\/\//

export function isOnServer(place: StorePlace): place is ServerPlace {
  return place.kind === 'eventstoredb' || place.kind === 'postgres'
}

/** A folder stands for the store in it, so that a data folder can be named as a store. */
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

/** By default the keys lie beside the store, else in the data folder. */
function keyPlace(text: string | undefined, store: StorePlace, data: string): KeyPlace {
  if (text?.trimStart().startsWith('{')) return { kind: 'text', text: text }
  if (text !== undefined) return { kind: 'file', path: text }
  const beside = store.kind === 'sqlite' ? join(dirname(store.path), KEY_FILE) : undefined
  return { kind: 'file', path: beside !== undefined && existsSync(beside) ? beside : join(data, KEY_FILE) }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
