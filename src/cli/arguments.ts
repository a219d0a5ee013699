/** @module What a command is handed of its command line. */
import { type Environment, type Flags, readSettings, type Settings } from '../settings/config.ts'
import { SETTINGS, type SettingName } from '../settings/settings.ts'

export interface Arguments {
  readonly settings: Settings
  /** The value of a flag; undefined where it is not there. */
  readonly text: (name: string) => string | undefined
  /** Whether a flag without a value is there. */
  readonly has: (name: string) => boolean
  readonly positionals: readonly string[]
}

/** Settings are read from the flags of their names, then from the environment. Throws `SettingsError` for one that cannot be used. */
export function argumentsOf(
  flags: Readonly<Record<string, unknown>>,
  positionals: readonly string[],
  env: Environment,
): Arguments {
  const text = (name: string): string | undefined => {
    const value = flags[name]
    return typeof value === 'string' ? value : undefined
  }
  const ofSettings: Flags = Object.fromEntries(
    (Object.keys(SETTINGS) as SettingName[]).map((name) => [name, text(name)]),
  )
  return { settings: readSettings(ofSettings, env), text, has: (name) => flags[name] === true, positionals }
}
