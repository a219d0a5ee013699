/**
 * @module Child of `examples.long.test.ts`: runs examples one after the other, each in a folder of its own, and prints a line for each: what it
 * printed, or what it threw. `COUNTERSIGN_TEST_EXAMPLES` has their names as JSON; one that stands there twice finds what it left the first time.
 */
import { chdir } from 'node:process'
import { pathToFileURL } from 'node:url'
import { bundledProgram } from './support/program.ts'
import { type TempFolder, tempFolder } from './support/temp-folder.ts'

export interface ExampleRun {
  readonly name: string
  readonly lines: readonly string[]
  readonly error?: string
}

const names = JSON.parse(process.env.COUNTERSIGN_TEST_EXAMPLES ?? '[]') as readonly string[]
const folders = new Map<string, TempFolder>()
const write = process.stdout.write.bind(process.stdout)

for (const [index, name] of names.entries()) {
  const folder = folders.get(name) ?? tempFolder()
  folders.set(name, folder)
  chdir(folder.path)
  let text = ''
  process.stdout.write = (part: string | Uint8Array) => {
    text += part
    return true
  }
  const program = `${pathToFileURL(bundledProgram(`examples/${name}.js`)).href}?${index}`
  const error = await import(program).then(
    () => undefined,
    (thrown) => String(thrown),
  )
  process.stdout.write = write
  const run: ExampleRun = { name, lines: text.trim().split('\n'), ...(error !== undefined && { error }) }
  write(`${JSON.stringify(run)}\n`)
}
chdir('/')
for (const folder of folders.values()) folder[Symbol.dispose]()
