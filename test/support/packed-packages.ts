/** @module Both packages as npm packs them, and projects outside of the repository that have one installed. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import { cleanEnv } from './command-line.ts'
import { ROOT } from './source-root.ts'
import type { TempFolder } from './temp-folder.ts'

type Files = Readonly<Record<string, string>>

export function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', env: cleanEnv() })
  assert.is(status, 0, `${command} ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

export class PackedPackages {
  readonly #folder: TempFolder

  constructor(folder: TempFolder) {
    this.#folder = folder
  }

  /** Packs what the build has made; nothing is built again, since other tests run from it. */
  pack(): void {
    run(process.execPath, ['scripts/build-client-package.mjs', this.#folder.file('built')], ROOT)
    for (const place of [ROOT, this.#folder.file('built')]) {
      run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', this.#folder.path], place)
    }
  }

  tarball(name: string): string {
    const found = readdirSync(this.#folder.path).find((file) => new RegExp(`^${name}-\\d.*\\.tgz$`).test(file))
    assert.ok(found, `${name} was packed`)
    return this.#folder.file(found)
  }

  /** A project with the client, installed by npm. */
  clientProject(name: string, files: Files): string {
    const project = this.#projectOf(name, files)
    const args = ['install', '--offline', '--no-audit', '--no-fund', '--silent', this.tarball('countersign-client')]
    run('npm', args, project)
    return project
  }

  /** A project with the whole package, its dependencies and `others`: these come from the repository, since there may be no network. */
  serverProject(name: string, files: Files, others: readonly string[] = []): string {
    const project = this.#projectOf(name, files)
    const modules = join(project, 'node_modules')
    mkdirSync(join(modules, 'countersign'), { recursive: true })
    const args = ['-xzf', this.tarball('countersign'), '-C', join(modules, 'countersign'), '--strip-components=1']
    run('tar', args, project)
    for (const each of [...Object.keys(dependencies), ...others]) {
      mkdirSync(dirname(join(modules, each)), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules', each), join(modules, each))
    }
    return project
  }

  #projectOf(name: string, files: Files): string {
    const project = this.#folder.file(name)
    mkdirSync(project)
    for (const [file, text] of Object.entries({ 'package.json': '{"private":true,"type":"module"}', ...files })) {
      writeFileSync(join(project, file), text)
    }
    return project
  }
}
