/** @module A command of the command line: commander's class, extended by settings as flags and one-line error messages. */
import { Command, type Option } from 'commander'
import type { SettingName } from '../settings/settings.ts'
import { type Arguments, argumentsOf } from './arguments.ts'
import { usageFailure } from './failure.ts'
import { settingFlag } from './flag.ts'

/** Returns the exit code. */
export type Handler = (args: Arguments) => Promise<number> | number

/** Column width if the width of the terminal is unknown. */
const PLAIN_COLUMNS = 80

export class CliCommand extends Command {
  /** Exit code of the whole program, set by the command that ran. */
  exitCode = 0
  /** The words that the whole program was called with. */
  words: readonly string[] = []
  /** Whether the command has an action itself, in addition to its subcommands. */
  isRunnable = false

  constructor(name?: string) {
    super(name)
    // Otherwise, a parent command would parse a flag of the same name that follows the action.
    this.enablePositionalOptions()
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name)
  }

  /** A flag is accepted once: with duplicates, the last one would win silently. */
  override addOption(option: Option): this {
    super.addOption(option)
    let exists = false
    this.on(`option:${option.name()}`, (value: unknown) => {
      if (exists) this.error(`${option.long} is there twice: say it once, lists with commas`)
      exists = true
      if (typeof value === 'string') this.#refuseFlagAsValue(option, value)
    })
    return this
  }

  /** Settings that this command accepts as flags. */
  settings(...names: readonly SettingName[]): this {
    for (const name of names) this.addOption(settingFlag(name))
    return this
  }

  flags(...options: readonly Option[]): this {
    for (const option of options) this.addOption(option)
    return this
  }

  /** Paragraphs after the flags, wrapped to the width of the terminal. */
  explained(...paragraphs: readonly string[]): this {
    return this.addHelpText('after', ({ command }) => {
      const columns = command.configureOutput().getOutHelpWidth?.() ?? PLAIN_COLUMNS
      const helper = command.createHelp()
      return `\n${paragraphs.map((text) => helper.boxWrap(text, columns)).join('\n')}`
    })
  }

  /** Sets the action. Its code is loaded only when it runs, so that `token` does not load the server. */
  runs(load: () => Promise<Handler>): this {
    this.isRunnable = true
    return this.action(async () => {
      const handler = await load()
      this.root.exitCode = await handler(this.#arguments())
    })
  }

  get root(): CliCommand {
    return this.parent instanceof CliCommand ? this.parent.root : this
  }

  /** The full name of a command without the program's name, such as `keys list`. */
  get path(): string {
    return this.parent instanceof CliCommand ? `${this.parent.path} ${this.name()}`.trim() : ''
  }

  /** Throws `SettingsError` for a setting that cannot be used. */
  #arguments(): Arguments {
    const values: Readonly<Record<string, unknown>> = this.opts()
    const flags = Object.fromEntries(this.options.map((option) => [nameOf(option), values[option.attributeName()]]))
    const read = argumentsOf(flags, this.args, process.env)
    const declared = (name: string): string => {
      if (Object.hasOwn(flags, name)) return name
      throw new Error(`${this.path} declares no flag --${name}, and its code looks for one`)
    }
    return { ...read, text: (name) => read.text(declared(name)), has: (name) => read.has(declared(name)) }
  }

  /** Reports every error that commander finds, with its suggestion, as one line. */
  override error(message: string): never {
    throw usageFailure(message.replace(/^error: /, '').replaceAll('\n', ' '), this.path)
  }

  #refuseFlagAsValue({ long, short }: Option, value: string): void {
    const { words } = this.root
    const isNextWord = words.some((word, at) => (word === long || word === short) && words[at + 1] === value)
    if (isNextWord && /^-./.test(value)) this.error(`the value of ${long} is missing (or write ${long}=${value})`)
  }
}

/** For example `as-of` for `--as-of`. */
export function nameOf({ long }: Option): string {
  return (long ?? '').replace(/^--/, '')
}
