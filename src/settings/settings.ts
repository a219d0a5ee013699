/** @module Every setting: its meaning, its accepted values and its default. Flags, variables and the documentation are generated from this table. */
import { z } from 'zod'
import { ANNOUNCED } from '../../schemas/events.ts'
import { INLINE_CEILING_BYTES, VALUE_CEILING_BYTES } from '../../schemas/value-forms.ts'
import { KNOWN_KEYS_ABOUT, KNOWN_KEYS_DEFAULT } from './known-keys-path.ts'

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const

const PORT_MAX = 65_535

const CHECKPOINT_MAX_SECONDS = 86_400
const DRAIN_MAX_SECONDS = 3_600
const TIMESTAMP_MAX_MINUTES = 44_640
const SCRUB_MAX_DAYS = 3_650
const READ_THREADS_MAX = 16

const MIB = 1024 * 1024

/** Below this, a single large batch would use most of the budget. */
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

/** A comma-separated list of names from `known`. */
function listed(known: readonly string[]): z.ZodType<readonly string[], string> {
  return z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .refine((names) => names.every((name) => known.includes(name)), `takes names out of ${known.join(', ')}`)
}

/** Origins as browsers send them: scheme, host and port; no path and no wildcard. */
const Origins = z
  .string()
  .transform((text) => text.split(',').map((origin) => origin.trim()))
  .refine(
    (origins) =>
      origins.every(
        (origin) => /^https?:[^*]+$/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin,
      ),
    'takes exact origins such as https://app.example.com, in lower case, without a path, with commas between',
  )

export interface Setting {
  /** What the value means; one line of the documentation. */
  readonly about: string
  /** The default in the form that a user would type; undefined: unset. */
  readonly fallback?: string
  readonly schema: z.ZodType<unknown, string>
  /** The default shown in the documentation, if it depends on other settings. */
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

/** Every setting, by flag name; its variable is `COUNTERSIGN_` and the name in capitals. */
export const SETTINGS = {
  data: { about: 'folder of store, views and keys', fallback: '.countersign', schema: Path },
  store: {
    about:
      'the store: a path, `sqlite:<path>`, `memory:`, `postgres://...`, or `esdb://...` for EventStoreDB and KurrentDB',
    schema: Path,
    shownDefault: '`store.db` in the data folder',
  },
  keys: {
    about:
      'the key file; the variable may also hold its JSON text. `exec:COMMAND` where the key file of the data folder is encrypted by that program, which runs as `COMMAND wrap` and `COMMAND unwrap`',
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
      "milliseconds of the server's thread a second that one tenant may use for reading, and as many for large writes; one caller three quarters of them; time counts while others use the server too; 0 turns the limit off",
    fallback: '800',
    schema: wholeNumber(0, 1_000_000),
  },
  'max-connections': {
    about: 'connections at once; those without a token make room for others, and one address has half of them at most',
    fallback: '10000',
    schema: wholeNumber(16, 1_000_000),
  },
  'drain-seconds': {
    about:
      'seconds after SIGTERM in which `/readyz` answers 503 and everything else is served on, so that a balancer looks elsewhere before connections are refused; a second signal ends it at once',
    fallback: '0',
    schema: wholeNumber(0, DRAIN_MAX_SECONDS),
  },
  'checkpoint-seconds': {
    about: 'longest time from an event to the signed checkpoint of its log, within seconds in a lull; 0 signs none',
    fallback: '300',
    schema: wholeNumber(0, CHECKPOINT_MAX_SECONDS),
  },
  'scrub-days': {
    about:
      'the whole store is read again and checked within so many days, in slices behind everything else; 0 reads nothing again',
    fallback: '7',
    schema: wholeNumber(0, SCRUB_MAX_DAYS),
  },
  policy: {
    about:
      'policy of runs that declare none, which no run loosens: `default`, `relay`, or a JSON file, with one policy or `{tenants: {NAME: policy, "*": policy}}`; an edit counts within a second, for new runs',
    schema: Path,
    shownDefault: '`default`',
  },
  retention: {
    about:
      'file with the classes of retention, which say which runs are archived and when, on a store in a file; a pass begins a minute after the start and then each day, and reads the file anew',
    schema: Path,
    shownDefault: 'none: nothing is archived',
  },
  judge: {
    about:
      'URL of a judge that is called after each accepted handoff of runs whose policy names `judge`; nothing else is dialled for it',
    schema: z.url({ protocol: /^https?$/, error: 'takes a URL that begins with http:// or https://' }),
    shownDefault: 'none',
  },
  'judge-allow': {
    about:
      "addresses that are not public, where the judge's host may lie: addresses or CIDR blocks, with commas between",
    schema: z.string().min(1).max(4_096),
    shownDefault: 'none; this machine, where the URL names it',
  },
  webhook: {
    about:
      'URL that approvals and waits are announced to: https, or http on this machine; nothing else is dialled for it',
    schema: z.url({ protocol: /^https?$/, error: 'takes a URL that begins with https://' }),
    shownDefault: 'none',
  },
  'webhook-secrets': {
    about:
      'file (mode 0600) of the secrets that deliveries are signed with, one `whsec_<base64>` a line, each signs; an edit counts within a second',
    schema: Path,
    shownDefault: 'none; needed with `--webhook`',
  },
  'webhook-events': {
    about: 'what is announced to the webhook, with commas between',
    fallback: ANNOUNCED.join(','),
    shownDefault: ANNOUNCED.map((name) => `\`${name}\``).join(', '),
    schema: listed(ANNOUNCED),
  },
  'webhook-allow': {
    about:
      "addresses that are not public, where the webhook's host may lie: addresses or CIDR blocks, with commas between",
    schema: z.string().min(1).max(4_096),
    shownDefault: 'none; this machine, where the URL names it',
  },
  gateway: {
    about:
      'file of the model gateway at `/openai/v1` and `/anthropic/v1`: upstreams with the places of their keys, prices, and which models a key may use',
    schema: Path,
    shownDefault: 'none: these paths are not there',
  },
  'public-url': {
    about: 'where people reach this server; links in deliveries begin with it',
    schema: z.url({ protocol: /^https?$/, error: 'takes a URL that begins with https:// or http://' }),
    shownDefault: 'none: links are paths',
  },
  witnesses: {
    about:
      'file of the witnesses that cosign each checkpoint: `[{url, key, allow?}]`; `allow` names addresses that are not public',
    schema: Path,
    shownDefault: 'none',
  },
  'timestamp-url': {
    about:
      'URL of a time-stamping authority (RFC 3161) that says when checkpoints existed: https, or http on this machine',
    schema: z.url({ protocol: /^https?$/, error: 'takes a URL that begins with https://' }),
    shownDefault: 'none',
  },
  'timestamp-minutes': {
    about: "least time between two time-stamps of one log's checkpoints",
    fallback: '60',
    schema: wholeNumber(1, TIMESTAMP_MAX_MINUTES),
  },
  'timestamp-allow': {
    about:
      "addresses that are not public, where the authority's host may lie: addresses or CIDR blocks, with commas between",
    schema: z.string().min(1).max(4_096),
    shownDefault: 'none; this machine, where the URL names it',
  },
  memory: {
    about: 'memory for caches, queues, open streams and requests in flight; what finds it full gets 503',
    schema: Size,
    shownDefault: "half of the container's or the machine's, at most 3/4 of node's heap limit",
  },
  'value-inline-bytes': {
    about:
      'arguments, results, inputs and outputs up to so many bytes are kept in their events; larger ones beside them, by reference',
    fallback: '65536',
    schema: wholeNumber(1_024, INLINE_CEILING_BYTES),
  },
  'value-max-bytes': {
    about: 'larger arguments, results, inputs and outputs are refused (`value-too-large`)',
    fallback: '8388608',
    schema: wholeNumber(65_536, VALUE_CEILING_BYTES),
  },
  'request-log': {
    about:
      'a line of the log for each request: method, route, path without its query, status, milliseconds, and who sent it',
    fallback: 'false',
    schema: Switch,
  },
  'payload-scope': {
    about:
      'who reads bodies, such as contexts, arguments and results: `implied`, every token with `runs:read`; `required`, only those with `payloads:read`',
    fallback: 'implied',
    schema: z.enum(['implied', 'required'], 'takes implied or required'),
  },
  'read-threads': {
    about:
      'threads that answer auditors and make exports, bundles and replays of a store in a file. With 2 or more, one more thread writes the files that follow the store. With 0, the main thread does all of it',
    fallback: '1',
    schema: wholeNumber(0, READ_THREADS_MAX),
  },
  'strict-access': {
    about:
      'every read of bodies is recorded before it is answered; `false` counts those by `runs:read` and records them within a minute',
    fallback: 'false',
    schema: Switch,
  },
  cors: {
    about:
      'origins whose pages may call the API from a browser, such as `https://app.example.com`, with commas between; the dashboard is never among what they reach',
    schema: Origins,
    shownDefault: 'none',
  },
  'open-metrics': { about: 'serve `/metrics` without a token', fallback: 'false', schema: Switch },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS

/** `COUNTERSIGN_LOG_LEVEL` for `log-level`. */
export function variableOf(name: string): string {
  return `COUNTERSIGN_${name.toUpperCase().replaceAll('-', '_')}`
}
