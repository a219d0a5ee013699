/** @module What the packages export, each name with the comment that documents it, read from the sources. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from './source-root.ts'

export interface PublicExport {
  readonly entry: 'countersign/agent' | 'countersign/client'
  readonly name: string
  /** Where it is declared. */
  readonly file: string
  readonly isType: boolean
  /** The comment above its declaration; empty where there is none. */
  readonly comment: string
}

const ENTRIES = { 'countersign/agent': 'src/agent/index.ts', 'countersign/client': 'src/client/index.ts' } as const
const LIST = /(export|import) (type )?\{([^}]*)\} from '([^']+)'/g

export function publicExports(): readonly PublicExport[] {
  return Object.entries(ENTRIES).flatMap(([entry, file]) =>
    namesOf(file).map((each) => ({ ...each, entry: entry as PublicExport['entry'] })),
  )
}

type Named = Omit<PublicExport, 'entry'>

function namesOf(file: string): readonly Named[] {
  const text = read(file)
  const all = [...text.matchAll(/^export \* from '([^']+)'/gm)].flatMap(([, from = '']) => namesOf(beside(file, from)))
  const named = [...text.matchAll(LIST)]
    .filter(([, kind]) => kind === 'export')
    .flatMap(([, , type, names = '', from = '']) =>
      listed(names).map(({ source, name }) =>
        declared(beside(file, from), source, { name, isType: type !== undefined }),
      ),
    )
  return [...all, ...named]
}

/** Where a name is declared, through whatever files pass it on. */
function declared(file: string, source: string, as: Pick<Named, 'name' | 'isType'>): Named {
  const text = read(file)
  const declaration = new RegExp(
    `((?:^/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?)^export (?:abstract )?(?:async )?(?:function\\*?|const|class|interface|type) ${source}\\b`,
    'gm',
  )
  // A schema and the type made of it share a name: the type is what is exported as one.
  const found = [...text.matchAll(declaration)]
  const match = as.isType ? found.at(-1) : found[0]
  if (match !== undefined) return { ...as, file, comment: /@module/.test(match[1] ?? '') ? '' : (match[1] ?? '') }
  for (const [, , , names = '', from = ''] of text.matchAll(LIST)) {
    const passed = listed(names).find(({ name }) => name === source)
    if (passed !== undefined && from.startsWith('.')) return declared(beside(file, from), passed.source, as)
  }
  throw new Error(`${file} declares no ${source}`)
}

function listed(names: string): readonly { readonly source: string; readonly name: string }[] {
  return names
    .split(',')
    .map((each) => each.trim().replace(/^type /, ''))
    .filter((each) => each !== '')
    .map((each) => {
      const [source = '', name = source] = each.split(' as ')
      return { source, name }
    })
}

/** The text of the comment, without its stars. */
export function textOf(comment: string): string {
  return comment
    .replace(/^\/\*\*|\*\/\s*$/g, '')
    .replace(/^\s*\* ?/gm, '')
    .trim()
}

/** The program below `@example`; undefined where there is none. */
export function exampleIn(comment: string): string | undefined {
  return /@example\n```ts\n([\s\S]*?)\n```/.exec(textOf(comment))?.[1]
}

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const beside = (file: string, from: string): string => join(dirname(file), from)
