/** @module The parsed arguments that a command receives. */
import { type Environment, type Flags, readSettings, type Settings } from '../settings/config.ts'
import { SETTINGS, type SettingName } from '../settings/settings.ts'

export interface Arguments {
  readonly settings: Settings
  /** The value of a flag; undefined if it is not given. */
  readonly text: (name: string) => string | undefined
  /** Whether a flag without a value is given. */
  readonly has: (name: string) => boolean
  readonly positionals: readonly string[]
}

/** Settings are read from their flags, then from the environment. Throws `SettingsError` for an unusable setting. */
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
