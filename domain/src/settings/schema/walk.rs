//! The schema nodes directly below a node, whatever keyword holds them; nested `definitions` are not below it.

use super::node::{Additional, Dependency, Items, Node};

impl Node {
    /// Calls `visit` with each child.
    pub(super) fn each_child(&self, visit: &mut dyn FnMut(&Self)) {
        if let Some(object) = &self.object {
            object
                .properties
                .iter()
                .flatten()
                .for_each(|(_, node)| visit(node));
            object
                .patterns
                .iter()
                .flatten()
                .for_each(|(_, (_, node))| visit(node));
            if let Some(Additional::Schema(node)) = &object.additional {
                visit(node);
            }
            for dependency in object.dependencies.iter().flat_map(|all| all.values()) {
                if let Dependency::Schema(node) = dependency {
                    visit(node);
                }
            }
        }
        if let Some(list) = &self.list {
            match &list.items {
                Some(Items::One(node)) => visit(node),
                Some(Items::Tuple(nodes)) => nodes.iter().for_each(&mut *visit),
                None => {}
            }
            if let Some(Additional::Schema(node)) = &list.additional {
                visit(node);
            }
        }
        if let Some(branches) = &self.branches {
            branches.all_of.iter().for_each(&mut *visit);
            branches.any_of.iter().for_each(&mut *visit);
            branches.one_of.iter().for_each(&mut *visit);
            branches.not.iter().for_each(|node| visit(node));
        }
    }

    /// Calls `visit` with each child and each entry of `definitions`, and with its place, such as `properties.db`.
    pub(super) fn each_placed_child(&self, visit: &mut dyn FnMut(&str, &Self)) {
        if let Some(object) = &self.object {
            for (key, node) in object.properties.iter().flatten() {
                visit(&format!("properties.{key}"), node);
            }
            for (key, (_, node)) in object.patterns.iter().flatten() {
                visit(&format!("patternProperties.{key}"), node);
            }
            if let Some(Additional::Schema(node)) = &object.additional {
                visit("additionalProperties", node);
            }
            for (key, dependency) in object.dependencies.iter().flatten() {
                if let Dependency::Schema(node) = dependency {
                    visit(&format!("dependencies.{key}"), node);
                }
            }
        }
        if let Some(list) = &self.list {
            match &list.items {
                Some(Items::One(node)) => visit("items", node),
                Some(Items::Tuple(nodes)) => each_numbered("items", nodes, visit),
                None => {}
            }
            if let Some(Additional::Schema(node)) = &list.additional {
                visit("additionalItems", node);
            }
        }
        if let Some(branches) = &self.branches {
            each_numbered("allOf", &branches.all_of, visit);
            each_numbered("anyOf", &branches.any_of, visit);
            each_numbered("oneOf", &branches.one_of, visit);
            if let Some(node) = &branches.not {
                visit("not", node);
            }
        }
        for (key, node) in self
            .notes
            .iter()
            .filter_map(|notes| notes.definitions.as_ref())
            .flatten()
        {
            visit(&format!("definitions.{key}"), node);
        }
    }

    /// Calls `visit` with each child, in the same order, until it fails.
    pub(in crate::settings) fn try_each_child_mut<E>(
        &mut self,
        visit: &mut dyn FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(object) = &mut self.object {
            object
                .properties
                .iter_mut()
                .flatten()
                .try_for_each(|(_, node)| visit(node))?;
            object
                .patterns
                .iter_mut()
                .flatten()
                .try_for_each(|(_, (_, node))| visit(node))?;
            if let Some(Additional::Schema(node)) = &mut object.additional {
                visit(node)?;
            }
            for dependency in object
                .dependencies
                .iter_mut()
                .flat_map(|all| all.values_mut())
            {
                if let Dependency::Schema(node) = dependency {
                    visit(node)?;
                }
            }
        }
        if let Some(list) = &mut self.list {
            match &mut list.items {
                Some(Items::One(node)) => visit(node)?,
                Some(Items::Tuple(nodes)) => nodes.iter_mut().try_for_each(&mut *visit)?,
                None => {}
            }
            if let Some(Additional::Schema(node)) = &mut list.additional {
                visit(node)?;
            }
        }
        if let Some(branches) = &mut self.branches {
            branches.all_of.iter_mut().try_for_each(&mut *visit)?;
            branches.any_of.iter_mut().try_for_each(&mut *visit)?;
            branches.one_of.iter_mut().try_for_each(&mut *visit)?;
            branches.not.iter_mut().try_for_each(|node| visit(node))?;
        }
        Ok(())
    }
}

fn each_numbered(keyword: &str, nodes: &[Node], visit: &mut dyn FnMut(&str, &Node)) {
    for (position, node) in nodes.iter().enumerate() {
        visit(&format!("{keyword}.{position}"), node);
    }
}
