//! The imports of a crate's modules, read from its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// A module or a name, by its segments from the root of the crate.
type ModulePath = Vec<String>;

/// The files that each file imports, by the names of their modules.
pub(super) type Imports = BTreeMap<String, BTreeSet<String>>;

/// Reads the crate whose root is in this folder. Imports of the root itself, of other crates, and
/// those of tests are left out.
pub(super) fn read(src: &Path) -> Result<Imports, String> {
    let mut files = BTreeMap::new();
    for path in sources(src)? {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let syntax = syn::parse_file(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let module = module_of(path.strip_prefix(src).unwrap_or(&path));
        files.insert(module, syntax);
    }
    let modules: BTreeSet<ModulePath> = files.keys().cloned().collect();
    let mut known = BTreeMap::new();
    for (module, syntax) in &files {
        let mut names = Names::new(module, &modules);
        names.visit_file(syntax);
        known.insert(module.clone(), names);
    }
    let mut imports = Imports::new();
    for (module, names) in known.iter().filter(|(module, _)| !module.is_empty()) {
        let targets = names.used.iter().filter_map(|used| target(used, &known, 0));
        let targets = targets.filter(|to| to != module && !to.is_empty());
        imports.insert(
            module.join("::"),
            targets.map(|module| module.join("::")).collect(),
        );
    }
    Ok(imports)
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The module of a file; the root of the crate is empty.
fn module_of(file: &Path) -> ModulePath {
    let path = file.with_extension("");
    let mut parts: ModulePath = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let is_root = parts.len() == 1 && matches!(&*parts[0], "lib" | "main");
    if is_root || parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// The names that a module uses.
struct Names<'a> {
    module: &'a ModulePath,
    modules: &'a BTreeSet<ModulePath>,
    /// Each from the root of the crate.
    used: BTreeSet<ModulePath>,
    /// The names that it takes from other modules, as others find them in it.
    imported: BTreeMap<String, ModulePath>,
}

impl<'a> Names<'a> {
    fn new(module: &'a ModulePath, modules: &'a BTreeSet<ModulePath>) -> Self {
        Names {
            module,
            modules,
            used: BTreeSet::new(),
            imported: BTreeMap::new(),
        }
    }

    /// The path from the root of the crate; `None` for one into another crate.
    fn absolute(&self, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => {
                let supers = path.iter().take_while(|part| *part == "super").count();
                let kept = self.module.len().checked_sub(supers)?;
                let mut base = self.module[..kept].to_vec();
                base.extend_from_slice(&path[supers..]);
                return Some(base);
            }
            child => {
                let mut base = self.module.clone();
                base.push(child.to_owned());
                if !self.modules.contains(&base) {
                    return None;
                }
                base
            }
        };
        base.extend_from_slice(rest);
        Some(base)
    }

    fn take(&mut self, tree: &UseTree, before: &mut Vec<String>, is_public: bool) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.take(&path.tree, before, is_public);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.take(tree, before, is_public);
                }
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.take_name(&name, &name, before, is_public);
            }
            UseTree::Rename(rename) => {
                let (name, alias) = (rename.ident.to_string(), rename.rename.to_string());
                self.take_name(&name, &alias, before, is_public);
            }
            UseTree::Glob(_) => {
                let used = self.absolute(before);
                self.used.extend(used);
            }
        }
    }

    fn take_name(&mut self, name: &str, alias: &str, before: &[String], is_public: bool) {
        let mut path = before.to_vec();
        let mut alias = alias.to_owned();
        match name {
            "self" => alias = before.last().cloned().unwrap_or(alias),
            name => path.push(name.to_owned()),
        }
        if let Some(path) = self.absolute(&path) {
            self.imported.insert(alias, path.clone());
            // A module that passes a name on does not use it.
            if !is_public {
                self.used.insert(path);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        // The paths of a module inside a file begin elsewhere: it is one for tests or documents.
        if item.content.is_none() {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        self.take(&item.tree, &mut Vec::new(), is_public);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<_> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if parts.len() > 1 && matches!(parts[0].as_str(), "crate" | "super") {
            let used = self.absolute(&parts);
            self.used.extend(used);
        }
        visit::visit_path(self, path);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// True for an item that only tests have.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list();
        attribute.path().is_ident("cfg")
            && condition.is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

/// The module that defines a name: through the modules that pass it on.
fn target(
    path: &[String],
    known: &BTreeMap<ModulePath, Names<'_>>,
    depth: usize,
) -> Option<ModulePath> {
    const MAX_DEPTH: usize = 8;
    let length = (0..=path.len())
        .rev()
        .find(|length| known.contains_key(&path[..*length]))?;
    let module = &path[..length];
    let passed_on = path
        .get(length)
        .and_then(|name| known.get(module)?.imported.get(name));
    match passed_on {
        Some(origin) if depth < MAX_DEPTH => {
            let mut path_there = origin.clone();
            path_there.extend_from_slice(&path[length + 1..]);
            target(&path_there, known, depth + 1)
        }
        _ => Some(module.to_vec()),
    }
}
