/** @module The flags that several commands share, each described once, and what a shell offers as their values. */
import { type Argument, Option } from 'commander'
import { ANNOUNCED } from '../../schemas/events.ts'
import { SETTINGS, type SettingName } from '../settings/settings.ts'

const offered = new WeakMap<Option | Argument, readonly string[]>()

/** `values` are offered by completion alone: lists with commas, and what only the ledger can judge, stay possible. */
export function flag(flags: string, about: string, values: readonly string[] = []): Option {
  const option = new Option(flags, about)
  offered.set(option, values)
  return option
}

/** The flag of a parameter: `agentContains` is `--agent-contains`. */
export function flagNameOf(parameter: string): string {
  return parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** One of these values and no other. */
export function choice(flags: string, about: string, values: readonly string[]): Option {
  return new Option(flags, about).choices(values)
}

/** What a shell offers where a value of this stands. */
export function offeredValues(of: Option | Argument): readonly string[] {
  return of.argChoices ?? offered.get(of) ?? []
}

/** The name of a setting's value in the help. */
const SETTING_VALUES: Readonly<Record<SettingName, string>> = {
  data: 'dir',
  store: 'store',
  keys: 'file',
  'known-keys': 'file',
  host: 'address',
  port: 'port',
  'log-level': 'level',
  issuer: 'name',
  audience: 'name',
  'trusted-issuers': 'file',
  origin: 'name',
  'rate-per-second': 'count',
  'rate-burst': 'count',
  'work-ms-per-second': 'milliseconds',
  'max-connections': 'count',
  'drain-seconds': 'seconds',
  'checkpoint-seconds': 'seconds',
  'scrub-days': 'days',
  'read-threads': 'count',
  policy: 'policy',
  judge: 'url',
  'judge-allow': 'addresses',
  webhook: 'url',
  'webhook-secrets': 'file',
  'webhook-events': 'names',
  'webhook-allow': 'addresses',
  gateway: 'file',
  'public-url': 'url',
  witnesses: 'file',
  'timestamp-url': 'url',
  'timestamp-minutes': 'minutes',
  'timestamp-allow': 'addresses',
  memory: 'size',
  'value-inline-bytes': 'bytes',
  'value-max-bytes': 'bytes',
  'request-log': 'boolean',
  'payload-scope': 'how',
  'strict-access': 'boolean',
  cors: 'origins',
  'open-metrics': 'boolean',
}
const SETTING_CHOICES: Partial<Record<SettingName, readonly string[]>> = {
  'log-level': ['silent', 'error', 'warn', 'info', 'debug'],
  policy: ['default', 'relay'],
  'request-log': ['true', 'false'],
  'webhook-events': ANNOUNCED,
  'payload-scope': ['implied', 'required'],
  'strict-access': ['true', 'false'],
  'open-metrics': ['true', 'false'],
}
const SETTINGS_HEADING = 'Settings (or COUNTERSIGN_* variables):'

/** A setting as a flag: what it means and its default come from the table of settings, which also checks its value. */
export function settingFlag(name: SettingName): Option {
  const setting: { about: string; fallback?: string; shownDefault?: string } = SETTINGS[name]
  const about = `${setting.about} (default: ${setting.shownDefault ?? setting.fallback})`.replaceAll('`', '')
  return flag(`--${name} <${SETTING_VALUES[name]}>`, about, SETTING_CHOICES[name]).helpGroup(SETTINGS_HEADING)
}

/** Where the store and its keys are. */
export const PLACE = ['data', 'store', 'keys'] as const satisfies readonly SettingName[]

export const jsonFlag = (about = 'print JSON') => flag('--json', about)
export const tenantFlag = (about = 'tenant (default: default)') => flag('--tenant <name>', about)
export const trustNothingFlag = (more = '') =>
  flag('--trust-nothing', `read the whole store, and none of the files that follow it${more}`)
export const urlFlag = (about = 'ask a running ledger instead of opening the store') => flag('--url <url>', about)
export const tokenFlag = (scope: string) =>
  flag('--token <token>', `access token for --url, scope ${scope} (better: COUNTERSIGN_TOKEN)`)
