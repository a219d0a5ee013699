import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BIN, cleanEnv, spawnTracked } from '../support/command-line.ts'
import { findProgram } from '../support/find-program.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const npx = suite('capture: under npx')

const childOf = (name: string): string => fileURLToPath(new URL(`./${name}-child.js`, import.meta.url))
const NPX = findProgram(['npx'])
const ORPHAN_MS = 5_000
const MARK = 'ORPHAN_TEST'

interface Process {
  readonly pid: number
  readonly command: string
}

/** Every process that has this mark in its environment, which children inherit whatever starts them; zombies have ended. */
function marked(mark: string): readonly Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const isOwn = readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARK}=${mark}\0`)
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
        return isOwn && command !== '' ? [{ pid: Number(pid), command }] : []
      } catch {
        return []
      }
    })
}

for (const victim of ['the host', 'npx', 'the proxy'] as const)
  npx(
    `a SIGKILL of ${victim} leaves no process of the chain host, npx, proxy, npx, server after five seconds (A532, CAP-12)`,
    async () => {
      if (NPX === undefined || process.platform !== 'linux') return
      using folder = tempFolder()
      const bin = folder.file('node_modules/.bin')
      mkdirSync(bin, { recursive: true })
      writeFileSync(folder.file('package.json'), '{"private":true}')
      for (const [name, program] of [
        ['countersign', BIN],
        ['counting-server', childOf('counting-server')],
      ] as const) {
        writeFileSync(`${bin}/${name}`, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`)
        chmodSync(`${bin}/${name}`, 0o755)
      }
      const proxy = [NPX, '--no-install', 'countersign', 'mcp', '--data', folder.file('data'), '--']
      const server = [NPX, '--no-install', 'counting-server', folder.file('server')]
      const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
      const host = spawnTracked(
        [process.execPath, childOf('calling-host'), folder.file('host'), '0', ...proxy, ...server],
        { cwd: folder.path, env: cleanEnv({ PATH, [MARK]: folder.path }), stdio: 'ignore' },
      )
      const answered = () =>
        existsSync(folder.file('host')) && readFileSync(folder.file('host'), 'utf8').includes('"text":"done')
      await eventually(() => (answered() ? true : undefined), 'a call through the whole chain', 60_000)
      const before = marked(folder.path)
      assert.ok(before.length >= 5, JSON.stringify(before))
      const pidOf = (found: (command: string) => boolean) => before.find(({ command }) => found(command))?.pid ?? -1
      const pid = {
        'the host': host.pid ?? -1,
        npx: pidOf((command) => /npm exec|npx/.test(command) && command.includes('countersign mcp')),
        'the proxy': pidOf((command) => command.startsWith(`${process.execPath} ${BIN} mcp`)),
      }[victim]
      assert.ok(pid > 0, JSON.stringify(before))
      process.kill(pid, 'SIGKILL')
      // A host that lives starts the proxy again: what is looked at is the chain that was there.
      const old = new Set(before.map((each) => each.pid))
      if (victim !== 'the host') old.delete(host.pid ?? -1)
      await eventually(
        () => (marked(folder.path).some((each) => old.has(each.pid)) ? undefined : true),
        `no process of the chain is left: ${JSON.stringify(before)}`,
        ORPHAN_MS,
      )
      host.kill('SIGKILL')
      await eventually(() => (marked(folder.path).length === 0 ? true : undefined), 'the end of everything', 15_000)
    },
  )

npx.run()
