/** @module Reading a command's arguments: what is not known is refused with one line, never ignored. */
import { parseArgs } from 'node:util'
import { type Environment, type Flags, readSettings, SETTINGS, type SettingName, type Settings } from '../config.ts'
import { usageFailure } from './failure.ts'

export interface Accepted {
  /** Settings that this command takes as flags. */
  readonly settings?: readonly SettingName[]
  /** Its own flags with a value. */
  readonly texts?: readonly string[]
  /** Its own flags without one. */
  readonly switches?: readonly string[]
  /** Names of its positional arguments; those in brackets may be left out. */
  readonly positionals?: readonly string[]
}

export interface Arguments {
  readonly settings: Settings
  readonly text: (name: string) => string | undefined
  readonly has: (name: string) => boolean
  readonly positionals: readonly string[]
}

/** Throws `CliFailure` with exit code 2, naming the argument at fault; `SettingsError` for a setting. */
export function readArguments(args: readonly string[], accepted: Accepted, env: Environment = process.env): Arguments {
  const { settings = [], texts = [], switches = [], positionals: wanted = [] } = accepted
  const { values, positionals } = parse(args, [...settings, ...texts], switches)

  const needed = wanted.filter((name) => !name.startsWith('['))
  const missing = needed[positionals.length]
  if (missing !== undefined) throw usageFailure(`${missing} is missing`)
  const extra = positionals[wanted.length]
  if (extra !== undefined) throw usageFailure(`"${extra}" is one argument too many`)

  const text = (name: string): string | undefined => {
    const value = values[name]
    return typeof value === 'string' ? value : undefined
  }
  const flags: Flags = Object.fromEntries(settings.map((name) => [name, text(name)]))
  return { settings: readSettings(flags, env), text, has: (name) => values[name] === true, positionals }
}

/** The flags of `verify`, `replay` and the like: where the store and its keys are. */
export const PLACE_SETTINGS = ['data', 'store', 'keys'] as const satisfies readonly SettingName[]
/** What `serve` takes: everything but the keys that a reader has pinned. */
export const SERVE_SETTINGS = (Object.keys(SETTINGS) as SettingName[]).filter((name) => name !== 'known-keys')

interface Parsed {
  readonly values: { readonly [flag: string]: unknown }
  readonly positionals: readonly string[]
}

function parse(args: readonly string[], texts: readonly string[], switches: readonly string[]): Parsed {
  const options = Object.fromEntries([
    ...texts.map((name) => [name, { type: 'string' }] as const),
    ...switches.map((name) => [name, { type: 'boolean' }] as const),
  ])
  const parsed = parsedStrictly(args, options)
  const names = parsed.tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  // The last one would win, and the others be ignored.
  if (twice !== undefined) throw usageFailure(`--${twice} is there twice: say it once, lists with commas`)
  return parsed
}

function parsedStrictly(args: readonly string[], options: Record<string, { type: 'string' | 'boolean' }>) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true, tokens: true })
  } catch (error) {
    // Node's message goes on to explain "--"; its first sentence is the one that helps.
    const message = error instanceof Error ? error.message : String(error)
    throw usageFailure(message.split('. ')[0] ?? message)
  }
}
