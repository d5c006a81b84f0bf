import {
  firstWords,
  type Grammar,
  listValueOptions,
  MODELS_COMMAND,
  type OptionWords,
  takesValue,
} from './grammar.js';

/** A completion script for bash 4 and later, and for zsh after `bashcompinit`. */
export function renderBash(grammar: Grammar): string {
  return `# svc-migrate completion for bash; \`source\` this file.
_svc_migrate_models() {
  "\${COMP_WORDS[0]}" "\${config[@]}" ${MODELS_COMMAND}
}
_svc_migrate_files() {
  local file
  if [[ -z $prefix ]]; then compgen -f -- "$cur"; return; fi
  for file in "$cur"*; do
    if [[ -e $file ]]; then printf '%s\\n' "$prefix$file"; fi
  done
}
_svc_migrate() {
  local cur prev command= choices= prefix= i found=() given=() config=()
  # Where = separates words, what it separated is joined again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if ((\${#given[@]})) && [[ \${COMP_WORDS[i]} == = || \${COMP_WORDS[i-1]} == = ]]; then
      given[\${#given[@]}-1]+=\${COMP_WORDS[i]}
    else
      given+=("\${COMP_WORDS[i]}")
    fi
  done
  # Where = does not separate words, what stands before it is part of the word to complete.
  local whole=
  if [[ -n \${ZSH_VERSION-} || \${COMP_WORDBREAKS-=} != *=* ]]; then whole=yes; fi
  local last=$((\${#given[@]} - 1))
  cur=\${given[last]}
  if ((last > 0)); then prev=\${given[last-1]}; fi
  if [[ $cur == --*=* ]]; then
    prev=\${cur%%=*} cur=\${cur#*=}
    prefix=\${whole:+$prev=}
  fi
  # The command is the first one or two words that are neither options nor their values.
  for ((i = 0; i < last; i++)); do
    case \${given[i]} in
      --config) ((++i)); config=(--config "\${given[i]}") ;;
      --config=*) config=("\${given[i]}") ;;
      ${listValueOptions(grammar).join(' | ')}) ((++i)) ;;
      -*) ;;
      *) found+=("\${given[i]}") ;;
    esac
  done
  case "\${found[0]} \${found[1]}" in
${commandCases(grammar)}
  esac
  case "$command $prev" in
${valueCases(grammar)}
  esac
  if [[ $cur == -* ]]; then
    choices="${grammar.common.map(nameOf).join(' ')}"
    case $command in
${optionCases(grammar)}
    esac
  elif ((\${#found[@]} == 0)); then
    choices="${firstWords(grammar)
      .map(({ word }) => word)
      .join(' ')}"
  elif [[ -z $command ]]; then
    case \${found[0]} in
${groupCases(grammar)}
    esac
  else
    case "$command:\${#found[@]}" in
${argumentCases(grammar)}
    esac
  fi
  COMPREPLY=($(compgen -P "$prefix" -W "$choices" -- "$cur"))
}
complete -o bashdefault -F _svc_migrate svc-migrate
`;
}

function nameOf({ name }: OptionWords): string {
  return name;
}

function commandCases({ commands }: Grammar): string {
  return commands
    .map(({ name }) => `    ${name.includes(' ') ? `"${name}"` : `"${name} "*`}) command="${name}" ;;`)
    .join('\n');
}

/** Completes the value of an option: its choices, files, or nothing. */
function valueCases({ commands, common }: Grammar): string {
  const cases = [
    ...common.map((option) => ['*', option] as const),
    ...commands.flatMap(({ name, options }) => options.map((option) => [`"${name}"`, option] as const)),
  ];
  return cases
    .filter(([, option]) => takesValue(option))
    .map(([command, { name, value }]) => `    ${command}" ${name}") ${completeValue(value)}; return ;;`)
    .join('\n');
}

function completeValue(value: OptionWords['value']): string {
  if (value === 'file') return 'COMPREPLY=($(_svc_migrate_files))';
  if (value === 'model') return completeFrom(MODELS);
  if (value === 'column=model') {
    return `if [[ $cur == *=* ]]; then prefix+=\${whole:+\${cur%%=*}=} cur=\${cur#*=}; ${completeFrom(MODELS)}; fi`;
  }
  return typeof value === 'string' ? 'COMPREPLY=()' : completeFrom(value.join(' '));
}

const MODELS = '$(_svc_migrate_models)';

function completeFrom(choices: string): string {
  return `COMPREPLY=($(compgen -P "$prefix" -W "${choices}" -- "$cur"))`;
}

function optionCases({ commands }: Grammar): string {
  return commands
    .filter(({ options }) => options.length > 0)
    .map(({ name, options }) => `      "${name}") choices+=" ${options.map(nameOf).join(' ')}" ;;`)
    .join('\n');
}

function groupCases(grammar: Grammar): string {
  const groups = new Map<string, string[]>();
  for (const { name } of grammar.commands) {
    const [first = '', second] = name.split(' ');
    if (second !== undefined) groups.set(first, [...(groups.get(first) ?? []), second]);
  }
  return [...groups]
    .map(([first, seconds]) => `      ${first}) choices="${seconds.join(' ')}" ;;`)
    .join('\n');
}

function argumentCases({ commands }: Grammar): string {
  return commands
    .filter(({ firstArgs }) => firstArgs.length > 0)
    .map(
      ({ name, firstArgs }) =>
        `      "${name}:${name.split(' ').length}") choices="${firstArgs === 'model' ? MODELS : firstArgs.join(' ')}" ;;`,
    )
    .join('\n');
}
