/** @module Flags shared by several commands, and the values that shells offer for them. */
import { type Argument, Option } from 'commander'
import { ANNOUNCED } from '../../schemas/events.ts'
import { SETTINGS, type SettingName } from '../settings/settings.ts'

const offered = new WeakMap<Option | Argument, readonly string[]>()

/** `values` are only offered for completion: other values, such as comma-separated lists, remain possible. */
export function flag(flags: string, about: string, values: readonly string[] = []): Option {
  const option = new Option(flags, about)
  offered.set(option, values)
  return option
}

/** The flag of a parameter: `agentContains` becomes `--agent-contains`. */
export function flagNameOf(parameter: string): string {
  return parameter.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** A flag that accepts only these values. */
export function choice(flags: string, about: string, values: readonly string[]): Option {
  return new Option(flags, about).choices(values)
}

/** The values that a shell offers for this flag or argument. */
export function offeredValues(of: Option | Argument): readonly string[] {
  return of.argChoices ?? offered.get(of) ?? []
}

/** The placeholder for the value of a setting in the help. */
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
  retention: 'file',
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

/** A setting as a flag: its description and default come from the table of settings, which also validates its value. */
export function settingFlag(name: SettingName): Option {
  const setting: { about: string; fallback?: string; shownDefault?: string } = SETTINGS[name]
  const about = `${setting.about} (default: ${setting.shownDefault ?? setting.fallback})`.replaceAll('`', '')
  return flag(`--${name} <${SETTING_VALUES[name]}>`, about, SETTING_CHOICES[name]).helpGroup(SETTINGS_HEADING)
}

/** The settings that locate the store and its keys. */
export const PLACE = ['data', 'store', 'keys'] as const satisfies readonly SettingName[]

export const jsonFlag = (about = 'print JSON') => flag('--json', about)
export const tenantFlag = (about = 'tenant (default: default)') => flag('--tenant <name>', about)
export const trustNothingFlag = (more = '') =>
  flag('--trust-nothing', `read the whole store, and none of the files that follow it${more}`)
export const urlFlag = (about = 'ask a running ledger instead of opening the store') => flag('--url <url>', about)
export const tokenFlag = (scope: string) =>
  flag('--token <token>', `access token for --url, scope ${scope} (better: COUNTERSIGN_TOKEN)`)
