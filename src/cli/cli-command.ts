/** @module A command of the command line: commander's, with settings as flags, and with one line for whatever is wrong with its arguments. */
import { Command, type Option } from 'commander'
import type { SettingName } from '../settings/settings.ts'
import { type Arguments, argumentsOf } from './arguments.ts'
import { usageFailure } from './failure.ts'
import { settingFlag } from './flag.ts'

/** Answers the exit code. */
export type Handler = (args: Arguments) => Promise<number> | number

/** Where nothing says how wide the terminal is. */
const PLAIN_COLUMNS = 80

export class CliCommand extends Command {
  /** Of the whole program: set by the command that ran. */
  exitCode = 0
  /** Of the whole program: the words it was called with. */
  words: readonly string[] = []
  /** Whether it does something by itself, and not only by the commands below it. */
  isRunnable = false

  constructor(name?: string) {
    super(name)
    // Else a flag of the same name of the command above would take what stands behind the action.
    this.enablePositionalOptions()
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name)
  }

  /** A flag is taken once: the last one would win, and the others be ignored. */
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

  /** Settings that this command takes as flags. */
  settings(...names: readonly SettingName[]): this {
    for (const name of names) this.addOption(settingFlag(name))
    return this
  }

  flags(...options: readonly Option[]): this {
    for (const option of options) this.addOption(option)
    return this
  }

  /** Paragraphs below the flags, in lines as long as the terminal is wide. */
  explained(...paragraphs: readonly string[]): this {
    return this.addHelpText('after', ({ command }) => {
      const columns = command.configureOutput().getOutHelpWidth?.() ?? PLAIN_COLUMNS
      const helper = command.createHelp()
      return `\n${paragraphs.map((text) => helper.boxWrap(text, columns)).join('\n')}`
    })
  }

  /** What the command does. The code is loaded only when it runs: `token` need not wait for the server's. */
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

  /** `keys list`, as it is called behind the program's name. */
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

  /** Every fault that commander finds, with its suggestion, as the one line of ours. */
  override error(message: string): never {
    throw usageFailure(message.replace(/^error: /, '').replaceAll('\n', ' '), this.path)
  }

  #refuseFlagAsValue({ long, short }: Option, value: string): void {
    const { words } = this.root
    const isNextWord = words.some((word, at) => (word === long || word === short) && words[at + 1] === value)
    if (isNextWord && /^-./.test(value)) this.error(`the value of ${long} is missing (or write ${long}=${value})`)
  }
}

/** `as-of` of `--as-of`. */
export function nameOf({ long }: Option): string {
  return (long ?? '').replace(/^--/, '')
}
