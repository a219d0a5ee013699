/**
 * @module Reads the settings: from flags, then from `COUNTERSIGN_*` environment variables, then from defaults, into one validated object. No other code reads
 * these settings from the environment.
 */
import { dirname } from 'node:path'
import { nearestName } from '../../schemas/nearest-name.ts'
import { ownKnownKeys } from './known-keys-path.ts'
import { isFile, type KeyPlace, keyPlace, type StorePlace, storePlace } from './places.ts'
import { type LOG_LEVELS, SETTINGS, type Setting, type SettingName, variableOf } from './settings.ts'
import { SettingsError } from './settings-error.ts'

const MS_PER_SECOND = 1_000
const MS_PER_MINUTE = 60_000

/** Values of the flags; an absent one was not given. */
export type Flags = { readonly [name in SettingName]?: string | undefined }
export type Environment = { readonly [name: string]: string | undefined }

export interface Settings {
  readonly data: string
  readonly store: StorePlace
  readonly keys: KeyPlace
  /** How the key file was chosen: by the `keys` setting, by the data folder setting, or by the default data folder in the working directory. */
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
  readonly drainMs: number
  readonly checkpointDelayMs: number
  readonly scrubDays: number
  readonly readThreads: number
  /** `default`, `relay`, or the path of a file. */
  readonly policy?: string
  /** Path of the file with the classes of retention. */
  readonly retention?: string
  readonly judge?: string
  /** Addresses that may be contacted in addition to the host of the judge, in the format of the egress guard. */
  readonly judgeAllow: readonly string[]
  readonly webhook?: WebhookSettings
  /** Path of the model gateway's file. */
  readonly gateway?: string
  readonly witnesses?: string
  readonly timestamp?: TimestampSettings
  readonly payloadScope: 'implied' | 'required'
  readonly strictAccess: boolean
  readonly openMetrics: boolean
  readonly requestLog: boolean
  readonly corsOrigins: readonly string[]
  readonly values: { readonly inlineMaxBytes: number; readonly maxBytes: number }
  /** Absent: derived from the memory of the machine or the container. */
  readonly memoryBytes?: number
  /** Not a user setting: builds the audit index only when it is first used, for a ledger inside an agent's process. */
  readonly auditIfAsked?: boolean
  /** Not a user setting: maximum wait, in milliseconds, of an audit query for an index that is behind. Absent: no maximum. */
  readonly auditWaitMs?: number
  /** Not a user setting: moves the derived files of a served ledger to an indexing thread, some time after the start. */
  readonly indexingThread?: { readonly program?: URL; readonly startMs?: number } | undefined
  /** Not a user setting: set for one start if the operator accepts that the WAL of the store is damaged. */
  readonly acceptWalLoss?: boolean
  /** Not a user setting: the ledger is opened to list or acknowledge losses; see `LogSettings`. */
  readonly acknowledges?: boolean
  /** Not a user setting: a copy of the list of erasures, for one start after a backup was restored. */
  readonly erasures?: string
}

export interface TimestampSettings {
  /** URL of a time-stamping authority (RFC 3161). */
  readonly url: string
  /** Addresses that may be contacted in addition to the host of the URL, in the format of the egress guard. */
  readonly allow: readonly string[]
  /** Minimum interval between two time-stamps of one log, in milliseconds. */
  readonly intervalMs: number
}

export interface WebhookSettings {
  readonly url: string
  readonly secrets?: string
  readonly events: readonly string[]
  /** Addresses that may be contacted in addition to the host of the URL, in the format of the egress guard. */
  readonly allow: readonly string[]
  readonly publicUrl?: string
}

/** Variables that are not ledger settings: the commands and the runtime read them. */
const OTHER_VARIABLES = ['COUNTERSIGN_URL', 'COUNTERSIGN_TOKEN', 'COUNTERSIGN_ACTOR', 'COUNTERSIGN_TENANT']
/** The test suites of this repository set these variables for the processes that they start. */
const OF_TESTS = 'COUNTERSIGN_TEST_'

/** Kubernetes adds these variables to containers if there is a Service whose name begins with `countersign`. */
const OF_A_SERVICE = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_|$)/
const LINKED_PORT = /^(?:tcp|udp|sctp):\/\//

/**
 * Settings from flags, environment and defaults. Throws `SettingsError`, naming the flag or variable: for an unusable value, and for an unknown variable that
 * begins with `COUNTERSIGN_`, which would otherwise be ignored silently.
 */
export function readSettings(flags: Flags, env: Environment): Settings {
  refuseUnknownVariables(env)
  const inputs = new Inputs(flags, env)
  const data = inputs.folder('data')
  const store = storePlace(inputs.optional('store'), data)
  const trustedIssuers = inputs.optional('trusted-issuers')
  const origin = inputs.optional('origin')
  const policy = inputs.optional('policy')
  const retention = inputs.optional('retention')
  const judge = inputs.optional('judge')
  const webhook = webhookOf(inputs)
  const gateway = inputs.optional('gateway')
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
    drainMs: inputs.number('drain-seconds') * MS_PER_SECOND,
    checkpointDelayMs: inputs.number('checkpoint-seconds') * MS_PER_SECOND,
    scrubDays: inputs.number('scrub-days'),
    readThreads: inputs.number('read-threads'),
    ...(policy !== undefined && { policy }),
    ...(retention !== undefined && { retention }),
    ...(judge !== undefined && { judge }),
    judgeAllow: inputs.names('judge-allow'),
    ...(webhook !== undefined && { webhook }),
    ...(gateway !== undefined && { gateway }),
    ...(witnesses !== undefined && { witnesses }),
    ...timestampOf(inputs),
    ...(memoryBytes !== undefined && { memoryBytes }),
    payloadScope: inputs.checked('payload-scope') as Settings['payloadScope'],
    strictAccess: inputs.checked('strict-access') === true,
    openMetrics: inputs.checked('open-metrics') === true,
    requestLog: inputs.checked('request-log') === true,
    corsOrigins: (inputs.checked('cors') as readonly string[] | undefined) ?? [],
    values: { inlineMaxBytes: inputs.number('value-inline-bytes'), maxBytes: inputs.number('value-max-bytes') },
  }
}

function refuseUnknownVariables(env: Environment): void {
  const known = [...Object.keys(SETTINGS).map(variableOf), ...OTHER_VARIABLES]
  for (const [name, value] of Object.entries(env)) {
    if (value === '' || !name.startsWith('COUNTERSIGN_') || name.startsWith(OF_TESTS)) continue
    if (known.includes(name) || OF_A_SERVICE.test(name) || isLinkedPort(name, value)) continue
    const nearest = nearestName(name, known)
    const advice = nearest === undefined ? 'remove it, or see docs/configuration.md' : `did you mean ${nearest}?`
    throw new SettingsError(`${name}: there is no such setting: ${advice}`)
  }
}

/** Kubernetes sets `COUNTERSIGN_PORT=tcp://10.0.0.1:7070` for a Service named `countersign`; that is not a port to listen on. */
function isLinkedPort(name: string, value = ''): boolean {
  return name.endsWith('_PORT') && LINKED_PORT.test(value)
}

function webhookOf(inputs: Inputs): WebhookSettings | undefined {
  const url = inputs.optional('webhook')
  if (url === undefined) return undefined
  const secrets = inputs.optional('webhook-secrets')
  const publicUrl = inputs.optional('public-url')
  return {
    url,
    ...(secrets !== undefined && { secrets }),
    events: inputs.checked('webhook-events') as readonly string[],
    allow: inputs.names('webhook-allow'),
    ...(publicUrl !== undefined && { publicUrl }),
  }
}

function timestampOf(inputs: Inputs): { timestamp?: TimestampSettings } {
  const url = inputs.optional('timestamp-url')
  if (url === undefined) return {}
  const intervalMs = inputs.number('timestamp-minutes') * MS_PER_MINUTE
  return { timestamp: { url, allow: inputs.names('timestamp-allow'), intervalMs } }
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

  /** An empty variable counts as unset, as in a file of variables. */
  #variable(name: SettingName): string | undefined {
    const value = this.#env[variableOf(name)]
    return value === '' || isLinkedPort(variableOf(name), value) ? undefined : value
  }

  checked(name: SettingName): unknown {
    const setting: Setting = SETTINGS[name]
    const value = this.#flags[name] ?? this.#variable(name) ?? setting.fallback
    if (value === undefined) return undefined

    const result = setting.schema.safeParse(value)
    if (result.success) return result.data
    throw new SettingsError(`${this.#sourceOf(name)}: ${result.error.issues[0]?.message ?? 'cannot be used'}`)
  }

  #sourceOf(name: SettingName): string {
    return this.#flags[name] === undefined ? variableOf(name) : `--${name}`
  }

  /** A folder, which may not exist yet. */
  folder(name: SettingName): string {
    const path = this.text(name)
    if (isFile(path))
      throw new SettingsError(
        `${this.#sourceOf(name)}: ${path} is a file, and a folder is needed: name the folder that it is in, ${dirname(path)}; a store alone is named with --store`,
      )
    return path
  }

  optional(name: SettingName): string | undefined {
    const value = this.checked(name)
    return value === undefined ? undefined : String(value)
  }

  /** The comma-separated values; none if the setting is not set. */
  names(name: SettingName): readonly string[] {
    return (this.optional(name) ?? '').split(',').flatMap((each) => each.trim() || [])
  }

  text(name: SettingName): string {
    return String(this.checked(name))
  }

  number(name: SettingName): number {
    return Number(this.checked(name))
  }
}
