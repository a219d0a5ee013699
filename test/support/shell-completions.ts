/** @module What a shell offers behind some words: its own program runs the script of `countersign completions`. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { completionScript } from '../../src/cli/completions.ts'
import { createProgram } from '../../src/cli/program.ts'
import { findProgram } from './find-program.ts'
import { tempFolder } from './temp-folder.ts'

/** The words behind `countersign`; the last one is being typed, and may be empty. */
export type Typed = readonly string[]

export interface Shell {
  readonly name: 'bash' | 'zsh' | 'fish'
  readonly program: string | undefined
  /** For each line typed, what is offered, in order. */
  readonly offered: (typed: readonly Typed[]) => readonly (readonly string[])[]
}

const END = '--end of what was offered--'

/** `script` asks for one line; all of them go through one process. */
function shell(name: Shell['name'], flags: readonly string[], script: (typed: Typed) => string): Shell {
  const program = findProgram([name])
  const offered = (typed: readonly Typed[]) => {
    const text = [completionScript(createProgram(), name), ...typed.map((each) => `${script(each)}\necho '${END}'`)]
    using folder = tempFolder()
    const file = folder.file(`completions.${name}`)
    writeFileSync(file, STUBS[name] + text.join('\n'))
    const env = { PATH: process.env.PATH, HOME: folder.path }
    const printed = execFileSync(program ?? name, [...flags, file], { encoding: 'utf8', env })
    const answers = printed.split(`${END}\n`)
    return answers.slice(0, -1).map((answer) => answer.split('\n').filter((line) => line !== ''))
  }
  return { name, program, offered }
}

/** The builtins of zsh's completion work at its prompt alone: these print what they are handed. */
const STUBS: Readonly<Record<Shell['name'], string>> = {
  bash: '',
  fish: '',
  zsh: `compadd() { shift; for each in "$@"; do [[ "$each" == "$words[CURRENT]"* ]] && print -r -- "$each"; done; return 0 }
_describe() { for each in "\${(@P)2}"; do [[ "$each" == "$words[CURRENT]"* ]] && print -r -- "\${each%%:*}"; done; return 0 }
_files() { return 0 }
words=(countersign zz) CURRENT=2
`,
}

const quoted = (word: string): string => `'${word}'`

export const SHELLS: readonly Shell[] = [
  shell(
    'bash',
    ['--norc'],
    (typed) => `COMP_WORDS=(countersign ${typed.map(quoted).join(' ')}); COMP_CWORD=${typed.length}
COMPREPLY=(); _countersign; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ),
  shell(
    'zsh',
    ['-f'],
    (typed) => `words=(countersign ${typed.map(quoted).join(' ')}); CURRENT=${typed.length + 1}; _countersign`,
  ),
  // What is behind a tab is its description.
  shell(
    'fish',
    ['--no-config'],
    (typed) => `complete -C ${quoted(['countersign', ...typed].join(' '))} | string split -f1 \\t`,
  ),
]
